package cli

import (
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// consoleBlock matches a block of a document with commands and their output.
var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// The tutorials in docs/learn show the output of their commands. Times differ between runs; the
// rest must be equal.
func TestTutorialsShowWhatTheirCommandsPrint(t *testing.T) {
	docs, err := filepath.Glob(filepath.Join("..", "..", "docs", "learn", "*.md"))
	if err != nil || len(docs) < 6 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(doc), func(t *testing.T) {
			dir := t.TempDir()
			copyCaptures(t, dir)
			t.Chdir(dir)
			for _, block := range consoleBlock.FindAllStringSubmatch(
				strings.ReplaceAll(string(text), "\r\n", "\n"), -1) {
				for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
					line, shown, _ := strings.Cut(step, "\n")
					checkStep(t, line, shown)
				}
			}
			checkInline(t, consoleBlock.ReplaceAllString(string(text), ""))
			if !strings.Contains(string(text), "$ gorxe trace ") && filepath.Base(doc) != "README.md" {
				t.Error("it has no command 'gorxe trace'")
			}
		})
	}
}

// copyCaptures copies the captures of docs/learn to dir, as the tutorials tell the reader to do.
func copyCaptures(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", "docs", "learn", "*.pcap.gz"))
	if err != nil || len(names) < 2 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// checkStep runs a command of a tutorial and compares its output with the one shown, unless none
// is shown.
func checkStep(t *testing.T, line, shown string) {
	t.Helper()
	var got string
	synctest.Test(t, func(t *testing.T) {
		args := shellWords(line)
		if args[0] != "gorxe" {
			t.Fatalf("$ %s: only gorxe is run here", line)
		}
		r := newWorld().StartWords(t.Context(), args[1:])
		if <-r.Done; r.Code != 0 {
			t.Fatalf("$ %s: %v", line, r)
		}
		got = r.Stdout.String() + r.Stderr.String()
	})
	if strings.TrimSpace(shown) == "" {
		return
	}
	if !matchesShown(timeless(got), timeless(shown)) {
		t.Errorf("$ %s\nshown:\n%s\nprinted:\n%s", line, shown, got)
	}
}

// inlineCommand matches a command with arguments in running text.
var inlineCommand = regexp.MustCompile("`(gorxe [^ `]+ [^`]+)`")

// checkInline runs the commands in the text of a document in order. A command that waits for a
// peer runs together with the next one.
func checkInline(t *testing.T, text string) {
	t.Helper()
	all := inlineCommand.FindAllStringSubmatch(text, -1)
	for i := 0; i < len(all); i++ {
		lines := []string{all[i][1]}
		if strings.Contains(lines[0], " -s ") || strings.HasPrefix(lines[0], "gorxe pingpong") {
			i++
			lines = append(lines, all[i][1])
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			var runs []*clitest.Run
			for _, line := range lines {
				runs = append(runs, w.StartWords(t.Context(), shellWords(line)[1:]))
				synctest.Wait()
			}
			for i, r := range runs {
				if <-r.Done; r.Code != 0 {
					t.Errorf("%s: %v", lines[i], r)
				}
			}
		})
	}
}

// shellWords splits a line like a shell, but supports only single quotes.
func shellWords(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

var (
	someTime  = regexp.MustCompile(`-?\b\d+(\.\d+)?(ns|µs|ms|s)\b`)
	someStamp = regexp.MustCompile(`\b\d+\.\d{6}\b`)
	someRate  = regexp.MustCompile(` in \d\S*: [\d.]+ \S*bit/s`)  // absent if no time has passed
	someSign  = regexp.MustCompile(`B is (ahead of|behind) A by`) // of the difference of two clocks
	someDrift = regexp.MustCompile(`drift (not measured: [^\n]*|\S+ ppm)`)
	someSpace = regexp.MustCompile(`[ \t]+`)
)

// timeless returns the lines of text without times. White space is collapsed, because the width
// of columns may depend on times.
func timeless(text string) (lines []string) {
	text = someRate.ReplaceAllString(text, "")
	text = someDrift.ReplaceAllString(text, "drift")
	text = someSign.ReplaceAllString(text, "B is ahead of A by")
	text = someStamp.ReplaceAllString(text, "0.000000")
	text = someTime.ReplaceAllString(text, "0s")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(someSpace.ReplaceAllString(line, " ")); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// matchesShown compares lines. A line "…" matches any number of lines.
func matchesShown(got, shown []string) bool {
	for i, line := range shown {
		if line == "…" {
			for skip := range len(got) + 1 {
				if matchesShown(got[skip:], shown[i+1:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || got[0] != line {
			return false
		}
		got = got[1:]
	}
	return len(got) == 0
}
