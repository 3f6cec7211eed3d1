package vm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPackageFilesNameTheirVersion(t *testing.T) {
	for file, want := range map[string]Package{
		"/a/perftest_25.01.0+0.80-1_amd64.deb": {"perftest", "25.01.0+0.80-1"},
		"base-files_13.8_amd64.deb":            {"base-files", "13.8"},
		"login_1%3a4.16.0-2_amd64.deb":         {"login", "1:4.16.0-2"},
		"odd.deb":                              {"odd.deb", ""},
	} {
		if got := packageOf(file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

func TestProgramsOfBeforeAreFoundAgainWhenTheyAreTheSame(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trixie")
	debs := []string{"x/libc6_2.41-12_amd64.deb", "x/perftest_25.01-1_amd64.deb", "x/python3-pyverbs_56.1-1_amd64.deb"}
	asked := []string{"python3-pyverbs", "perftest"}
	put := func() {
		if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, doneFile), []byte(describePackages(debs, asked)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put()
	p, err := openPrograms(dir, "trixie", asked)
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{{"python3-pyverbs", "56.1-1"}, {"perftest", "25.01-1"}}
	if diff := cmp.Diff(want, p.Packages); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"chroot", filepath.Join(dir, "root"), "ib_write_bw", "-F"},
		p.Command([]string{"ib_write_bw", "-F"})); diff != "" {
		t.Error(diff)
	}
	if _, err := openPrograms(dir, "trixie", []string{"perftest"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("other packages: %v, want that nothing is there", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the old tree is still there")
	}
}
