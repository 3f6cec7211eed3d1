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
	in     bool // the value is in the set
	port   uint16
	at     int32     // index in Set.all
	atPort int32     // index in the list of port
	blocks []inBlock // in order of their first packets
}

// inBlock is a block, and the index of the value in the list of the block.
type inBlock struct {
	block
	at int32
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

// Add adds v, unless it is in the set.
func (s *Set[T]) Add(v T) {
	p := v.Place()
	if p.in {
		return
	}
	p.in, p.at = true, int32(len(s.all))
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
	s.addPort(v)
	for i := range p.blocks {
		s.addBlock(v, &p.blocks[i])
	}
}

func (s *Set[T]) addPort(v T) {
	p := v.Place()
	p.atPort = int32(len(s.ports[p.port]))
	s.ports[p.port] = append(s.ports[p.port], v)
}

func (s *Set[T]) addBlock(v T, b *inBlock) {
	b.at = int32(len(s.psns[b.block]))
	s.psns[b.block] = append(s.psns[b.block], v)
}

// Remove removes v, if it is in the set.
func (s *Set[T]) Remove(v T) {
	p := v.Place()
	if !p.in {
		return
	}
	p.in = false
	s.all = cut(s.all, p.at, func(p *Place, i int32) { p.at = i })
	if s.ports == nil {
		return
	}
	s.removePort(p)
	for _, b := range p.blocks {
		s.removeBlock(b)
	}
}

func (s *Set[T]) removePort(p *Place) {
	l := cut(s.ports[p.port], p.atPort, func(p *Place, i int32) { p.atPort = i })
	if s.ports[p.port] = l; len(l) == 0 {
		delete(s.ports, p.port)
	}
}

func (s *Set[T]) removeBlock(b inBlock) {
	l := cut(s.psns[b.block], b.at, func(p *Place, i int32) {
		for k := range p.blocks {
			if p.blocks[k].block == b.block {
				p.blocks[k].at = i
			}
		}
	})
	if s.psns[b.block] = l; len(l) == 0 {
		delete(s.psns, b.block)
	}
}

// ordered is the length up to which the lists of a [Set] stay in the order of Add and Note. The
// time of a change does not depend on the length of a longer one.
const ordered = MaxPort

// cut removes the value at index i from l and returns the rest. It calls moved for the values that
// have a new index.
func cut[T Indexed](l []T, i int32, moved func(p *Place, i int32)) []T {
	last := len(l) - 1
	if last >= ordered {
		l[i] = l[last]
		moved(l[i].Place(), i)
	} else {
		for ; int(i) < last; i++ {
			l[i] = l[i+1]
			moved(l[i].Place(), i)
		}
	}
	var none T
	l[last] = none
	return l[:last]
}

// Note records that v, which is in the set, has sent a packet with a UDP source port and a PSN.
func (s *Set[T]) Note(v T, port uint16, psn bth.PSN) {
	p, b := v.Place(), block(psn>>blockBits)
	if p.port != port {
		if s.ports != nil {
			s.removePort(p)
		}
		if p.port = port; s.ports != nil {
			s.addPort(v)
		}
	}
	if slices.ContainsFunc(p.blocks, func(x inBlock) bool { return x.block == b }) {
		return
	}
	if len(p.blocks) == MaxBlocks {
		if s.psns != nil {
			s.removeBlock(p.blocks[0])
		}
		p.blocks = slices.Delete(p.blocks, 0, 1)
	}
	p.blocks = append(p.blocks, inBlock{block: b})
	if s.psns != nil {
		s.addBlock(v, &p.blocks[len(p.blocks)-1])
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
