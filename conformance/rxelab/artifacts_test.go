package rxelab

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFilesOfEachFailedRunAreKept(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "cell")
	for _, text := range []string{"first", "second"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "failure.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		setAside(dir)
	}
	for name, want := range map[string]string{"cell-failed-1": "first", "cell-failed-2": "second"} {
		got, err := os.ReadFile(filepath.Join(top, name, "failure.txt"))
		if err != nil || string(got) != want {
			t.Errorf("%s has %q, %v; want %q", name, got, err, want)
		}
	}
}
