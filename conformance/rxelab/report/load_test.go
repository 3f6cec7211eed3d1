package report

import (
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/host"
)

func TestLaterReportsReplaceCellsAndNameEveryVersion(t *testing.T) {
	k := KernelVersion{Suite: "bookworm", Release: "6.1"}
	dir := t.TempDir()
	save := func(name string, level cell.Level, version string, results ...Result) string {
		file := filepath.Join(dir, name)
		r := &Report{Level: level, Kernels: []KernelVersion{k},
			Versions: []host.Version{{Program: "gorxe", Version: version}, {Program: "perftest", Version: "4.5"}},
			Results:  results}
		if err := r.Save(file); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first := save("1.json", cell.LevelFull, "a", Result{ID: "x", Failures: []string{"lost"}}, Result{ID: "y"})
	second := save("2.json", cell.LevelCI, "b", Result{ID: "x"}, Result{ID: "z"})
	third := save("3.json", cell.LevelFull, "b")
	r, err := Load(first, second, third)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 3 || len(r.Failed()) != 0 {
		t.Errorf("results %+v, want x, y and z, all passed", r.Results)
	}
	for _, c := range r.Results {
		if want := map[string]int{"x": 1}[c.ID]; len(c.Before) != want {
			t.Errorf("%s failed %d times before, want %d", c.ID, len(c.Before), want)
		}
	}
	if r.Level != "full, ci" {
		t.Errorf("level %s", r.Level)
	}
	if len(r.Kernels) != 1 || len(r.Versions) != 3 {
		t.Errorf("kernels %v, versions %v, want one kernel and three versions", r.Kernels, r.Versions)
	}
}
