//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/gorxe/gorxe/internal/host/ownedtemp"
	"golang.org/x/sys/unix"
)

// A Device is a character device of the tree. It exists only in the answers to programs, not as a
// file.
type Device struct {
	Path         string // set by Tree.AddDevice
	Major, Minor uint32
	Slot         Slot // slot of the descriptors that an open returns
}

// A Tree owns some absolute paths and holds the files that programs see at and below them. For
// programs, nothing else exists there. Files and directories are rendered to a real directory:
// programs read them and use openat, readdir and fstat without the tree. All methods are safe for
// concurrent use; the next open sees a change.
type Tree struct {
	resolver
	rendered *ownedtemp.Dir
	dir      string // path of rendered, without symbolic links

	mu    sync.RWMutex
	nodes map[string]*node
}

// A node is a file, a directory or a device.
type node struct {
	path   string
	dir    bool
	device *Device
}

// NewTree returns a tree that owns the absolute paths own and everything below them. The tree is
// rendered to a new directory in dir. "" selects the first usable one of $XDG_RUNTIME_DIR, /dev/shm
// and the directory of temporary files. Close removes the new directory.
func NewTree(dir string, own ...string) (*Tree, error) {
	t := &Tree{nodes: map[string]*node{}}
	for _, p := range own {
		if !path.IsAbs(p) || path.Clean(p) != p || p == "/" {
			return nil, fmt.Errorf("trap: tree: %q is not a clean absolute path", p)
		}
		t.roots = append(t.roots, p)
	}
	var errs []error
	for _, place := range renderPlaces(dir) {
		d, err := ownedtemp.Make(place, treePrefix)
		if err == nil {
			t.rendered, t.dir = d, d.Path
			return t, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("trap: no place for the file tree: %w", errors.Join(errs...))
}

func renderPlaces(dir string) []string {
	if dir != "" {
		return []string{dir}
	}
	places := []string{"/dev/shm", os.TempDir()}
	if d := os.Getenv("XDG_RUNTIME_DIR"); d != "" {
		places = append([]string{d}, places...)
	}
	return places
}

// treePrefix is the prefix of the names of rendered trees.
const treePrefix = "gorxe-tree-"

// Close removes the rendered tree.
func (t *Tree) Close() error { return t.rendered.Close() }

// AddFile adds or replaces the file p, which programs can read. The change is atomic.
func (t *Tree) AddFile(p string, content []byte) error {
	return t.add(&node{path: p}, content, 0o444)
}

// AddDir adds the directory p, which may exist already.
func (t *Tree) AddDir(p string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mkdir(p)
}

// AddDevice adds or replaces the device p. Programs see it with mode 0666.
func (t *Tree) AddDevice(p string, d Device) error {
	d.Path = p
	return t.add(&node{path: p, device: &d}, nil, 0o666)
}

// Remove removes p and everything below it. It returns no error if p does not exist.
func (t *Tree) Remove(p string) error {
	if err := t.check(p); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.nodes {
		if k == p || strings.HasPrefix(k, p+"/") {
			delete(t.nodes, k)
		}
	}
	return os.RemoveAll(t.real(p))
}

func (t *Tree) add(n *node, content []byte, mode uint32) error {
	if err := t.check(n.path); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.nodes[n.path]; old != nil && old.dir {
		return fmt.Errorf("trap: tree: %s is a directory", n.path)
	}
	if up := path.Dir(n.path); t.owned([]byte(up)) {
		if err := t.mkdir(up); err != nil {
			return err
		}
	} else if err := os.MkdirAll(t.real(up), 0o755); err != nil {
		return err
	}
	temp := t.dir + "/.new"
	if err := writeFile(temp, content, mode); err != nil {
		return fmt.Errorf("trap: tree: writing %s: %w", temp, err)
	}
	if err := unix.Rename(temp, t.real(n.path)); err != nil {
		return fmt.Errorf("trap: tree: renaming %s to %s: %w", temp, t.real(n.path), err)
	}
	t.nodes[n.path] = n
	return nil
}

// writeFile is os.WriteFile and os.Chmod with half the system calls: a program waits for these
// files when it starts.
func writeFile(name string, content []byte, mode uint32) error {
	fd, err := retry(func() (int, error) {
		return unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return err
	}
	for len(content) > 0 && err == nil {
		var n int
		n, err = retry(func() (int, error) { return unix.Write(fd, content) })
		content = content[max(n, 0):]
	}
	if err == nil {
		err = unix.Fchmod(fd, mode) // not subject to the umask
	}
	return errors.Join(err, unix.Close(fd))
}

// mkdir adds p and the owned directories above it.
func (t *Tree) mkdir(p string) error {
	if err := t.check(p); err != nil {
		return err
	}
	if n := t.nodes[p]; n != nil && n.dir {
		return nil
	}
	for q := p; t.owned([]byte(q)); q = path.Dir(q) {
		if old := t.nodes[q]; old != nil && !old.dir {
			return fmt.Errorf("trap: tree: %s is not a directory", q)
		}
	}
	if err := os.MkdirAll(t.real(p), 0o755); err != nil {
		return err
	}
	for q := p; t.owned([]byte(q)); q = path.Dir(q) {
		t.nodes[q] = &node{path: q, dir: true}
	}
	return nil
}

func (t *Tree) check(p string) error {
	if path.Clean(p) != p || !t.owned([]byte(p)) {
		return fmt.Errorf("trap: tree: %q is not a clean path below %q", p, t.roots)
	}
	return nil
}

// real returns the path of the rendered file of p.
func (t *Tree) real(p string) string { return t.dir + p }

// lookup returns the node of a clean path, nil if there is none.
func (t *Tree) lookup(p []byte) *node {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.nodes[string(p)]
}

// underFile reports whether an ancestor of the clean path p is not a directory.
func (t *Tree) underFile(p []byte) bool {
	for p = parent(p); t.owned(p); p = parent(p) {
		if n := t.lookup(p); n != nil {
			return !n.dir
		}
	}
	return false
}

// virtual returns the path in the tree of the rendered file real, or false if real is no such
// file.
func (t *Tree) virtual(real string) (string, bool) {
	p, ok := strings.CutPrefix(real, t.dir)
	if !ok || p != "" && p[0] != '/' {
		return "", false
	}
	return p, true
}
