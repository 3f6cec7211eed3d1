package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The README's Go code must be the body of the example that the tests run.
func TestREADMEShowsTheExample(t *testing.T) {
	t.Chdir("..")
	readme := read(t, "README.md")
	_, code, ok := strings.Cut(readme, "```go\n")
	code, _, ok2 := strings.Cut(code, "```")
	if !ok || !ok2 {
		t.Fatal("README.md has no Go code")
	}
	example := strings.ReplaceAll(read(t, "verbs/example_linux_test.go"), "\n\t", "\n")
	if !strings.Contains(example, code) {
		t.Error("the Go code in README.md is not what Example in example_linux_test.go runs")
	}
}

func documents() []string {
	docs, _ := filepath.Glob("docs/*.md")
	more, _ := filepath.Glob("docs/*/*.md")
	return append(append(docs, more...), "README.md", "CONTRIBUTING.md", "SECURITY.md")
}

// Go files that the documents name must exist. Those below internal are named without that
// prefix.
func TestDocumentsNameGoFilesThatExist(t *testing.T) {
	t.Chdir("..")
	file := regexp.MustCompile("`((?:[a-z]+/)+[a-z_]+\\.go)`")
	for _, doc := range documents() {
		for _, m := range file.FindAllStringSubmatch(read(t, doc), -1) {
			_, err := os.Stat(m[1])
			if _, below := os.Stat(filepath.Join("internal", m[1])); err != nil && below != nil {
				t.Errorf("%s: %v", doc, err)
			}
		}
	}
}

// Links between the documents must lead somewhere.
func TestDocumentsLinkToFilesThatExist(t *testing.T) {
	t.Chdir("..")
	link := regexp.MustCompile(`\]\(([^):#]+)[^)]*\)`)
	for _, doc := range documents() {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", doc, m[1], err)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}
