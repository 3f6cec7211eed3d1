//go:build linux && (amd64 || arm64)

package trap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestPathsAreMatchedByTheirCleanText(t *testing.T) {
	r := &resolver{roots: []string{"/sys/class/infiniband", "/sys/class/infiniband_verbs", "/dev/infiniband"}}
	for _, c := range []struct {
		path, want string
		dir        bool
	}{
		{"/dev/infiniband", "/dev/infiniband", false},
		{"/dev/infiniband/", "/dev/infiniband", true},
		{"/dev/infiniband/.", "/dev/infiniband", true},
		{"//dev///infiniband/./uverbs0", "/dev/infiniband/uverbs0", false},
		{"/./dev/infiniband/uverbs0/", "/dev/infiniband/uverbs0", true},
		{"/dev/infiniband/a/../uverbs0", "/dev/infiniband/uverbs0", false},
		{"/dev/infiniband/a/..", "/dev/infiniband", true},
		{"/sys/class/infiniband_verbs/abi_version", "/sys/class/infiniband_verbs/abi_version", false},
		{"/sys/class/infiniband_cm", "", false},
		{"/sys/class/infinibandx/y", "", false},
		{"/dev/infinib", "", false},
		{"/dev", "", false},
		{"/", "", false},
		{"", "", false},
		{"dev/infiniband", "", false},
		{"/dev/../dev/infiniband", "", false},  // depends on links of the host
		{"/dev/infiniband/..", "", false},      // leaves the tree
		{"/dev/infiniband/../shm", "", false},  // leaves the tree
		{"/dev/infiniband/a/../..", "", false}, // leaves the tree
		{"/dev/infiniband/.../x", "/dev/infiniband/.../x", false},
	} {
		got, dir := r.resolve(nil, []byte(c.path))
		if string(got) != c.want || c.want != "" && dir != c.dir {
			t.Errorf("%q: got %q, directory %v, want %q, %v", c.path, got, dir, c.want, c.dir)
		}
	}
}

// Inside the tree the lexical result is that of filepath.Clean, and it never leaves the tree.
func TestCleanPathsAgreeWithFilepathInsideTheTree(t *testing.T) {
	r := &resolver{roots: []string{"/a/b"}}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"", ".", "..", "a", "b", "b2"})).Draw(t, "parts")
		p := "/" + strings.Join(parts, "/")
		got, _ := r.resolve(nil, []byte(p))
		if got == nil {
			if !strings.Contains(p, "..") && (filepath.Clean(p) + "/")[:min(5, len(filepath.Clean(p))+1)] == "/a/b/" {
				t.Fatalf("%q is in the tree", p)
			}
			return
		}
		if string(got) != filepath.Clean(p) || !r.owned(got) {
			t.Fatalf("%q: got %q, want %q", p, got, filepath.Clean(p))
		}
	})
}

func TestTreeIsRenderedToRealFiles(t *testing.T) {
	tree, err := NewTree(t.TempDir(), "/sys/class/x", "/dev/x")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		tree.AddFile("/sys/class/x/a/b", []byte("1")),
		tree.AddFile("/sys/class/x/a/b", []byte("22")),
		tree.AddDevice("/dev/x/d", Device{Major: 1}),
		tree.AddDir("/sys/class/x/a"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, err := range map[string]error{
		"a file outside":         tree.AddFile("/etc/passwd", nil),
		"a path that is unclean": tree.AddFile("/dev/x/../x/y", nil),
		"a file below a file":    tree.AddFile("/sys/class/x/a/b/c", nil),
		"a directory as a file":  tree.AddFile("/sys/class/x/a", nil),
		"a file as a directory":  tree.AddDir("/sys/class/x/a/b"),
	} {
		if err == nil {
			t.Errorf("%s was added", what)
		}
	}
	real := tree.real("/sys/class/x/a/b")
	if got, err := os.ReadFile(real); err != nil || string(got) != "22" {
		t.Errorf("%q, %v", got, err)
	}
	if p, ok := tree.virtual(real); !ok || p != "/sys/class/x/a/b" {
		t.Errorf("virtual path of %s: %q, %v", real, p, ok)
	}
	if !tree.underFile([]byte("/dev/x/d/e/f")) || tree.underFile([]byte("/dev/x/e/f")) {
		t.Error("what is below the device d is not told from what does not exist")
	}
	if err := tree.Remove("/sys/class/x/a"); err != nil || tree.lookup([]byte("/sys/class/x/a/b")) != nil {
		t.Errorf("after Remove: %v", err)
	}
	if err := tree.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tree.dir); !os.IsNotExist(err) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTreesOfKilledProcessesAreRemoved(t *testing.T) {
	place := t.TempDir()
	stale := filepath.Join(place, treePrefix+"1")
	if err := os.MkdirAll(filepath.Join(stale, "dev"), 0o700); err != nil {
		t.Fatal(err)
	}
	used, err := NewTree(place, "/dev/x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = used.Close() }()
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("a directory without a lock: %v", err)
	}
	other, err := NewTree(place, "/dev/x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := os.Stat(used.dir); err != nil {
		t.Errorf("a directory in use: %v", err)
	}
}
