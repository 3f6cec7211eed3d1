// Package golden compares the output of a test with a golden file in the tree. A test binary that
// imports it has the flag -update, which rewrites the golden files.
package golden

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Check compares got with the file name in the directory testdata, line by line. With -update it
// rewrites a file that differs.
func Check(t testing.TB, name, got string) {
	t.Helper()
	CheckFile(t, filepath.Join("testdata", filepath.FromSlash(name)), got)
}

// CheckFile is like Check for the file with the given path.
func CheckFile(t testing.TB, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	have := strings.ReplaceAll(string(want), "\r\n", "\n") // git on Windows may check out CRLF
	if err == nil && have == got {
		return
	}
	if *update {
		write(t, path, got)
		return
	}
	t.Errorf("%s differs (go test -update rewrites it):\n%s", path,
		cmp.Diff(strings.Split(have, "\n"), strings.Split(got, "\n")))
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
