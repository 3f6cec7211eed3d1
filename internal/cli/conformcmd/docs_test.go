package conformcmd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
)

// shellBlock matches a block of a document with commands.
var shellBlock = regexp.MustCompile("(?s)```sh\n(.*?)```")

// word matches a word of a shell line: quoted, or without spaces.
var word = regexp.MustCompile(`'([^']*)'|\S+`)

// words splits a line as a shell does, and removes a redirection, whose file it returns.
func words(line string) (args []string, file string) {
	for _, m := range word.FindAllStringSubmatch(line, -1) {
		if m[1] != "" {
			args = append(args, m[1])
		} else {
			args = append(args, m[0])
		}
	}
	if n := len(args); n > 2 && args[n-2] == ">" {
		return args[:n-2], args[n-1]
	}
	return args, ""
}

// The commands of docs/conform.md run, with the real cases against a device that passes them all.
func TestTheCommandsOfTheDocumentRun(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "conform.md"))
	must(t, err)
	w := newWorld()
	w.cases = nil
	for _, c := range cases.All() {
		passing := *c
		passing.Raw, passing.Run = false, func(t *conformance.T) { t.ConnectTo(conformance.WriteServer).Control() }
		w.cases = append(w.cases, &passing)
	}
	t.Chdir(t.TempDir())
	commands := 0
	for _, block := range shellBlock.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\r\n", "\n"), -1) {
		for line := range strings.Lines(block[1]) {
			args, file := words(line)
			if args[0] != "gorxe" || args[1] != "conform" {
				if !strings.HasPrefix(line, "gorxe trace -v failures/psn-3.pcapng") {
					t.Errorf("%s is not tested", line)
				}
				if _, err := os.Stat(args[len(args)-1]); err != nil {
					t.Error(err)
				}
				continue
			}
			commands++
			if args = args[2:]; args[0] != "report" {
				local := "192.0.2.1"
				switch {
				case args[0] == "127.0.0.1":
					local = "127.0.0.2"
				case strings.Contains(line, "--dut-addr 2001:db8::7"):
					local = "2001:db8::1"
				}
				args = append(args, "--local", local)
			}
			r := w.run(t.Context(), args...)
			if r.code != 0 {
				t.Errorf("%s: %+v", line, r)
			}
			if file != "" {
				must(t, os.WriteFile(file, []byte(r.stdout), 0o666))
			}
		}
	}
	if commands < 9 {
		t.Errorf("%d commands", commands)
	}
}

// Every verdict is explained, and every flag exists.
func TestTheDocumentNamesVerdictsAndFlagsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "conform.md"))
	must(t, err)
	for v := range conformance.Verdicts {
		has(t, string(text), "\n| "+v.String()+" |")
	}
	c := command(nil, &newWorld().env)
	daemon := []string{"device", "perftest", "pingpong"} // flags of gorxe daemon
	for _, m := range regexp.MustCompile("--([a-z][a-z-]+)").FindAllStringSubmatch(string(text), -1) {
		if c.Flags().Lookup(m[1]) == nil && !slices.Contains(daemon, m[1]) {
			t.Errorf("there is no flag --%s", m[1])
		}
	}
}
