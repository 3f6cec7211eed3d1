package ownedtemp

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestDirectoriesOfKilledProcessesAreRemoved(t *testing.T) {
	place := t.TempDir()
	stale, other := filepath.Join(place, "x-1"), filepath.Join(place, "y-1")
	for _, dir := range []string{filepath.Join(stale, "a"), other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	used := make([]*Dir, 2)
	for i := range used {
		var err error
		if used[i], err = Make(place, "x-"); err != nil {
			t.Fatal(err)
		}
	}
	all, err := os.ReadDir(place)
	if err != nil || len(all) != 3 {
		t.Errorf("%v, %v; want y-1 and two of x", all, err)
	}
	for _, d := range used {
		if i, err := os.Stat(d.Path); err != nil || i.Mode().Perm() != 0o700 {
			t.Errorf("one in use: %v, %v", i, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if all, err := os.ReadDir(place); err != nil || len(all) != 1 {
		t.Errorf("after Close: %v, %v; want y-1", all, err)
	}
}

// A symbolic link is not followed, and its target remains.
func TestWhatIsNoDirectoryStays(t *testing.T) {
	place, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(place, "x-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "x-2"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Make(place, "x-")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if all, err := os.ReadDir(place); err != nil || len(all) != 2 {
		t.Errorf("%v, %v; want x-1 and x-2", all, err)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}

func TestDirectoriesThatAreMadeAtOnceAreKept(t *testing.T) {
	place := t.TempDir()
	for range 20 {
		var all sync.WaitGroup
		dirs := make([]*Dir, 8)
		for i := range dirs {
			all.Go(func() {
				d, err := Make(place, "x-")
				if err != nil {
					t.Error(err)
					return
				}
				dirs[i] = d
				if err := os.WriteFile(filepath.Join(d.Path, "f"), nil, 0o600); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, d := range dirs {
			if d == nil {
				continue
			}
			if _, err := os.Stat(filepath.Join(d.Path, "f")); err != nil {
				t.Error(err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if all, err := os.ReadDir(place); err != nil || len(all) != 0 {
		t.Errorf("left: %v, %v", all, err)
	}
}
