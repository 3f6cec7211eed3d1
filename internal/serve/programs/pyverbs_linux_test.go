//go:build linux && (amd64 || arm64)

package programs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rdmaCoreTests is where python3-pyverbs of Debian has the tests of rdma-core.
const rdmaCoreTests = "/usr/share/doc/rdma-core/tests"

// unpackTests copies the tests of rdma-core, some of which are compressed.
func unpackTests(t *testing.T) (dir string) {
	t.Helper()
	files, err := filepath.Glob(rdmaCoreTests + "/*")
	if err != nil || len(files) == 0 {
		t.Skip("python3-pyverbs is not installed")
	}
	dir = t.TempDir()
	for _, f := range files {
		b, err := os.ReadFile(f)
		name, compressed := strings.CutSuffix(filepath.Base(f), ".gz")
		if err == nil && compressed {
			var r io.Reader
			if r, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(r)
			}
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tableOf reads lines of two columns with a tab between them.
func tableOf(t *testing.T, file string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(b)) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		out[key] = value
	}
	return out
}

// The tables say which tests of rdma-core pass, for which reasons others may be skipped, and which fail and why.
func TestTestsOfRDMACorePassOrSayWhyNot(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		passes := tableOf(t, "testdata/pyverbs/pass.txt")
		skips := tableOf(t, "testdata/pyverbs/skip.txt")
		fails := tableOf(t, "testdata/pyverbs/fail.txt")
		dir := unpackTests(t)
		h := w.hostOn(t, "127.55.15.5")
		out := start(t, h, fmt.Sprintf("/usr/bin/python3 testdata/pyverbs/run.py %s rxe0 0", dir)).wait()
		for line := range strings.Lines(out) {
			f := strings.Split(strings.TrimRight(line, "\n"), "\t")
			if f[0] != "RESULT" || len(f) != 4 {
				continue
			}
			what, name, why := f[1], f[2], f[3]
			_, passed := passes[name]
			_, failed := fails[name]
			delete(passes, name)
			switch {
			case what == "pass" && !passed:
				t.Errorf("%s passes, which the table does not say", name)
			case what == "fail" && !failed:
				t.Errorf("%s fails: %s", name, why)
			case what == "skip" && (passed || !hasReason(skips, why)):
				t.Errorf("%s is skipped: %s", name, why)
			}
		}
		for name := range passes {
			t.Errorf("%s did not run", name)
		}
		if t.Failed() {
			t.Log(out)
		}
	})
}

// hasReason reports whether why begins with a reason of the table.
func hasReason(table map[string]string, why string) bool {
	for reason := range table {
		if strings.HasPrefix(why, reason) {
			return true
		}
	}
	return false
}
