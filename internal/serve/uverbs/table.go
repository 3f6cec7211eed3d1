//go:build linux

package uverbs

import (
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// A table holds the objects of one kind by their handles. A handle is reused only after all
// others.
type table[T any] struct {
	all  map[uint32]T
	last uint32
}

// add adds an object and returns its handle, which is never 0.
func (t *table[T]) add(o T) uint32 {
	if t.all == nil {
		t.all = map[uint32]T{}
	}
	for {
		t.last = max(1, t.last+1)
		if _, used := t.all[t.last]; !used {
			t.all[t.last] = o
			return t.last
		}
	}
}

// get returns the object with a handle.
func (t *table[T]) get(kind uapi.Object, handle uint32) (T, error) {
	o, ok := t.all[handle]
	if !ok {
		return o, fmt.Errorf("%v %d does not exist: %w", kind, handle, uapi.EINVAL)
	}
	return o, nil
}

func (t *table[T]) remove(handle uint32) { delete(t.all, handle) }

// ahTable holds the address handles of a context by their numbers, which are also their handles.
type ahTable struct {
	mu sync.RWMutex
	table[*verbs.AH]
}

func (t *ahTable) enter(ah *verbs.AH) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.add(ah)
}

func (t *ahTable) find(number uint32) (*verbs.AH, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	ah, ok := t.all[number]
	return ah, ok
}

func (t *ahTable) destroy(number uint32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.get(uapi.ObjectAH, number)
	t.remove(number)
	return err
}
