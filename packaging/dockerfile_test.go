package packaging

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// An instruction is an instruction of a Dockerfile, with continuation lines joined.
type instruction struct{ name, args string }

// A stage is a build stage, which begins with FROM.
type stage struct {
	from, name string
	steps      []instruction
}

func dockerfile(t *testing.T) []stage {
	t.Helper()
	var stages []stage
	for line := range strings.Lines(strings.ReplaceAll(read(t, "docker/Dockerfile"), "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, args, _ := strings.Cut(line, " ")
		args = strings.TrimSpace(args)
		if name == "FROM" {
			from, as, _ := strings.Cut(args, " AS ")
			stages = append(stages, stage{from: from, name: as})
			continue
		}
		if len(stages) == 0 {
			t.Fatalf("%s before the first FROM", name)
		}
		last := &stages[len(stages)-1]
		last.steps = append(last.steps, instruction{name, args})
	}
	if len(stages) != 2 {
		t.Fatalf("the Dockerfile has %d stages, want one that builds and one that is the image", len(stages))
	}
	return stages
}

// all returns the arguments of all instructions with a name.
func (s *stage) all(name string) []string {
	var list []string
	for _, i := range s.steps {
		if i.name == name {
			list = append(list, i.args)
		}
	}
	return list
}

// one returns the arguments of an instruction that must occur exactly once.
func (s *stage) one(t *testing.T, name string) string {
	t.Helper()
	list := s.all(name)
	if len(list) != 1 {
		t.Fatalf("the image has %d of %s, want one", len(list), name)
	}
	return list[0]
}

// words parses the exec form of ENTRYPOINT, CMD and HEALTHCHECK.
func words(t *testing.T, args string) []string {
	t.Helper()
	var list []string
	if err := json.Unmarshal([]byte(args), &list); err != nil {
		t.Fatalf("%s: %v: the image has no shell, a JSON list is needed", args, err)
	}
	return list
}

func healthcheck(t *testing.T, s *stage) []string {
	t.Helper()
	_, args, ok := strings.Cut(s.one(t, "HEALTHCHECK"), "CMD ")
	if !ok {
		t.Fatal("HEALTHCHECK has no CMD")
	}
	return words(t, args)
}

func TestTheImageIsSmallAndItsUserIsNotRoot(t *testing.T) {
	stages := dockerfile(t)
	build, image := &stages[0], &stages[1]
	if image.from != "scratch" {
		t.Errorf("the image is made from %s", image.from)
	}
	if !regexp.MustCompile(`^\d+:\d+$`).MatchString(image.one(t, "USER")) ||
		strings.HasPrefix(image.one(t, "USER"), "0:") {
		t.Errorf("USER %s: want numbers, which runAsNonRoot of Kubernetes can check, and not root's",
			image.one(t, "USER"))
	}
	_, tag, ok := strings.Cut(build.from, ":")
	if want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod")); !ok ||
		!strings.HasPrefix(tag, want[1]) {
		t.Errorf("the image is built with %s, go.mod asks for Go %s", build.from, want[1])
	}
	for _, s := range stages {
		for _, i := range s.steps {
			switch i.name {
			case "ADD", "MAINTAINER", "VOLUME", "SHELL":
				t.Errorf("%s %s: not needed here, and says less than what replaces it", i.name, i.args)
			case "ARG", "LABEL", "COPY", "RUN", "USER", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD", "WORKDIR":
			default:
				t.Errorf("there is no instruction %s", i.name)
			}
		}
	}
	for _, c := range image.all("COPY") {
		if !strings.Contains(c, "--from="+build.name+" ") {
			t.Errorf("COPY %s: the image takes only from the stage %s", c, build.name)
		}
	}
	if list := image.all("RUN"); list != nil {
		t.Errorf("the image has nothing that could run %q", list)
	}
	for _, w := range []string{words(t, image.one(t, "ENTRYPOINT"))[0], healthcheck(t, image)[0]} {
		if !slices.ContainsFunc(image.all("COPY"), func(c string) bool { return strings.HasSuffix(c, " "+w) }) {
			t.Errorf("nothing is copied to %s", w)
		}
	}
}

// Modules are downloaded before the sources are copied, so that a change of the sources does not
// download them again.
func TestTheImageFetchesModulesOnce(t *testing.T) {
	build := dockerfile(t)[0]
	modules := slices.Index(build.steps, instruction{"RUN", "go mod download"})
	sources := slices.Index(build.steps, instruction{"COPY", ". ."})
	if modules < 0 || sources < modules {
		t.Errorf("%+v", build.steps)
	}
}

// The build does not need the files that .dockerignore excludes.
func TestTheBuilderGetsWhatItNeeds(t *testing.T) {
	var ignored []string
	for line := range strings.Lines(read(t, "../.dockerignore")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			ignored = append(ignored, line)
		}
	}
	out, err := exec.Command("go", "list", "-C", "..", "-deps", "-f",
		`{{if not .Standard}}{{if .Module.Main}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`, "./cmd/gorxe").Output()
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for file := range strings.Lines(string(out)) {
		if strings.TrimSpace(file) == "" {
			continue
		}
		rel, err := filepath.Rel(top, strings.TrimSpace(file))
		if err != nil {
			t.Fatal(err)
		}
		count++
		for _, p := range ignored {
			if leftOut(p, filepath.ToSlash(rel)) {
				t.Errorf(".dockerignore: %s leaves out %s", p, rel)
			}
		}
	}
	if count < 100 {
		t.Errorf("the command is made of %d files", count)
	}
	if !leftOut("docs", "docs/a/b.md") || !leftOut("**/*_test.go", "a/b_test.go") || leftOut("bin", "cmd/bin.go") {
		t.Error("this test does not read patterns as Docker does")
	}
}

// leftOut reports whether a pattern of .dockerignore matches a file or a folder above it.
func leftOut(pattern, file string) bool {
	pattern, deep := strings.CutPrefix(pattern, "**/")
	parts := strings.Split(file, "/")
	for from := range parts {
		for to := range len(parts) - from {
			if ok, _ := path.Match(pattern, strings.Join(parts[from:from+to+1], "/")); ok {
				return true
			}
		}
		if !deep {
			break
		}
	}
	return false
}

// inside is the environment variable with the directory of built, for a test that is started
// again in namespaces.
const inside = "GORXE_PACKAGING_APART"

var madeDir = os.Getenv(inside)

// The build arguments of the image.
const (
	builtVersion = "v0.0.1-7-gfeedface"
	builtCommit  = "feedface0123456789abcdef0123456789abcdef"
)

// built runs the build steps of the image, with a temporary folder for /out, and returns that
// folder, which outlives the test.
var built = sync.OnceValues(func() (string, error) {
	if madeDir != "" {
		return filepath.Join(madeDir, "out"), nil
	}
	dir, err := os.MkdirTemp("", "gorxe-image")
	if err != nil {
		return "", err
	}
	madeDir = dir
	text, err := os.ReadFile("docker/Dockerfile")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		step, ok := strings.CutPrefix(strings.TrimSpace(line), "RUN ")
		if !ok || step == "go mod download" {
			continue
		}
		c := exec.Command("sh", "-c", strings.ReplaceAll(step, "/out", filepath.Join(dir, "out")))
		c.Dir = ".."
		c.Env = append(os.Environ(), "VERSION="+builtVersion, "COMMIT="+builtCommit)
		if out, err := c.CombinedOutput(); err != nil {
			return "", &buildError{step, string(out), err}
		}
	}
	return filepath.Join(dir, "out"), nil
})

type buildError struct {
	step, out string
	err       error
}

func (e *buildError) Error() string { return e.step + ": " + e.err.Error() + "\n" + e.out }

// imageRoot copies the image's root file system to dir.
func imageRoot(t *testing.T, dir string) {
	t.Helper()
	out, err := built()
	if err != nil {
		t.Fatal(err)
	}
	image := dockerfile(t)[1]
	for _, args := range image.all("COPY") {
		f := strings.Fields(args)
		owner := ""
		for strings.HasPrefix(f[0], "--") {
			if o, ok := strings.CutPrefix(f[0], "--chown="); ok {
				owner = o
			}
			f = f[1:]
		}
		from, to := strings.Replace(f[0], "/out", out, 1), filepath.Join(dir, f[1])
		script := `set -e; mkdir -p "$(dirname "$2")"; if [ -d "$1" ]; then mkdir -p "$2"; cp -r "$1"/. "$2"; else cp "$1" "$2"; fi; [ -z "$3" ] || chown -R "$3" "$2"`
		if text, err := exec.Command("sh", "-c", script, "copy", from, to, owner).CombinedOutput(); err != nil {
			t.Fatalf("COPY %s: %v\n%s", args, err, text)
		}
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if madeDir != "" && os.Getenv(inside) == "" {
		_ = os.RemoveAll(madeDir)
	}
	os.Exit(code)
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}
