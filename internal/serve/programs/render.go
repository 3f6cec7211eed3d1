//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"sync"

	"github.com/gorxe/gorxe/internal/trap"
)

// rendering keeps the files of a tree up to date with the device, whose addresses and port state
// change.
type rendering struct {
	name string // name of the device for programs
	tree *trap.Tree

	mu    sync.Mutex
	files map[string]string // contents in the tree; guarded by mu
}

// update updates the files that differ from dev. The next call retries failed changes.
func (r *rendering) update(dev described) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := files(dev, r.name)
	var errs []error
	for path := range r.files {
		if _, stays := want[path]; !stays {
			if err := r.tree.Remove(path); err != nil {
				errs = append(errs, err)
				continue
			}
			delete(r.files, path)
		}
	}
	for path, text := range want {
		if is, there := r.files[path]; there && is == text {
			continue
		}
		if err := r.tree.AddFile(path, []byte(text+"\n")); err != nil {
			errs = append(errs, err)
			continue
		}
		r.files[path] = text
	}
	return errors.Join(errs...)
}
