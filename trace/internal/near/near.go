// Package near finds, among many directions of connections, those that may belong to a packet of
// the opposite direction: those with its UDP source port, and those whose PSNs are near.
package near

import (
	"iter"
	"slices"

	"github.com/gorxe/gorxe/bth"
)

// Set is a set of values with a port and PSNs. A small set is searched completely; a large one has
// an index of the ports and one of the PSNs. The zero value is an empty set.
type Set[T Indexed] struct {
	all   []T
	ports map[uint16][]T // nil in a small set
	psns  map[block][]T  // nil in a small set
}

// Indexed is a value that a [Set] can contain: a pointer with its own Place.
type Indexed interface {
	comparable
	Place() *Place
}

// Place is where a [Set] finds a value.
type Place struct {
	port   uint16
	blocks []block // in order of their first packets
}

// block is the number of a block of 1024 PSNs.
type block uint16

const (
	blockBits = 10
	numBlocks = 1 << (24 - blockBits)

	// small is the number of values up to which a set has no indexes.
	small = 16
	// MaxBlocks is the number of blocks of 1024 PSNs that a value has at most: those of its latest
	// packets.
	MaxBlocks = 16
	// MaxPort and MaxBlock are the numbers of values with one port, and with PSNs in one block, up
	// to which Find returns them. More values are not told apart by it: all queue pairs have the
	// same UDP source port, or all begin with the same PSN.
	MaxPort  = 64
	MaxBlock = 1024
)

// Len returns the number of values.
func (s *Set[T]) Len() int { return len(s.all) }

// All returns all values. They must not be changed.
func (s *Set[T]) All() []T { return s.all }

// Add adds v, which must not be in the set.
func (s *Set[T]) Add(v T) {
	s.all = append(s.all, v)
	switch {
	case s.ports != nil:
		s.index(v)
	case len(s.all) > small:
		s.ports, s.psns = map[uint16][]T{}, map[block][]T{}
		for _, x := range s.all {
			s.index(x)
		}
	}
}

func (s *Set[T]) index(v T) {
	p := v.Place()
	s.ports[p.port] = append(s.ports[p.port], v)
	for _, b := range p.blocks {
		s.psns[b] = append(s.psns[b], v)
	}
}

// Remove removes v, if it is in the set.
func (s *Set[T]) Remove(v T) {
	if !without(&s.all, v) || s.ports == nil {
		return
	}
	p := v.Place()
	removeFrom(s.ports, p.port, v)
	for _, b := range p.blocks {
		removeFrom(s.psns, b, v)
	}
}

// Note records that v, which is in the set, has sent a packet with a UDP source port and a PSN.
func (s *Set[T]) Note(v T, port uint16, psn bth.PSN) {
	p, b := v.Place(), block(psn>>blockBits)
	if p.port != port {
		if s.ports != nil {
			removeFrom(s.ports, p.port, v)
			s.ports[port] = append(s.ports[port], v)
		}
		p.port = port
	}
	if slices.Contains(p.blocks, b) {
		return
	}
	if len(p.blocks) == MaxBlocks {
		if s.psns != nil {
			removeFrom(s.psns, p.blocks[0], v)
		}
		p.blocks = slices.Delete(p.blocks, 0, 1)
	}
	p.blocks = append(p.blocks, b)
	if s.psns != nil {
		s.psns[b] = append(s.psns[b], v)
	}
}

// Find returns the values that a packet with a UDP source port and a PSN may belong to: all of a
// small set; otherwise those with the port, and those with a packet whose PSN is at most 1024 away,
// each unless there are more than MaxPort or MaxBlock. A value with both is returned twice.
func (s *Set[T]) Find(port uint16, psn bth.PSN) iter.Seq[T] {
	return func(yield func(T) bool) {
		if s.ports == nil {
			each(s.all, yield)
			return
		}
		if l := s.ports[port]; len(l) <= MaxPort && !each(l, yield) {
			return
		}
		for n := -1; n <= 1; n++ {
			l := s.psns[block((int(psn>>blockBits)+n+numBlocks)%numBlocks)]
			if len(l) <= MaxBlock && !each(l, yield) {
				return
			}
		}
	}
}

// WithPort returns the number of values whose latest packet had a UDP source port.
func (s *Set[T]) WithPort(port uint16) int {
	if s.ports != nil {
		return len(s.ports[port])
	}
	n := 0
	for _, v := range s.all {
		if v.Place().port == port {
			n++
		}
	}
	return n
}

func each[T any](l []T, yield func(T) bool) bool {
	for _, v := range l {
		if !yield(v) {
			return false
		}
	}
	return true
}

// removeFrom removes v from the list of key.
func removeFrom[K, T comparable](lists map[K][]T, key K, v T) {
	l := lists[key]
	if without(&l, v) {
		if len(l) == 0 {
			delete(lists, key)
		} else {
			lists[key] = l
		}
	}
}

// without removes v from l and reports whether it was there.
func without[T comparable](l *[]T, v T) bool {
	i := slices.Index(*l, v)
	if i < 0 {
		return false
	}
	*l = slices.Delete(*l, i, i+1) // Delete clears the element beyond the end
	return true
}
