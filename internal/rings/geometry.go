package rings

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gorxe/gorxe/qp"
)

// Geometry is the layout of a ring. The zero value is not valid; see [NewGeometry].
type Geometry struct {
	slots    uint32 // a power of two
	log2Elem uint8
	pageSize int
	size     int // length of the buffer in bytes, a multiple of pageSize
}

// maxElem is the maximum size of an element in bytes.
const maxElem = 1 << 16

// NewGeometry returns the layout of a ring for at least depth elements of at least elemSize
// bytes. The number of slots is the smallest power of two greater than depth, because one slot
// always stays free; the slot size is the smallest power of two not less than elemSize. depth
// is 0 to [qp.MaxDepth], elemSize 1 to 65536. The buffer length is rounded up to a multiple of
// pageSize, a power of two of at least 8; more than 2 GiB - 1 is an error.
func NewGeometry(depth, elemSize, pageSize int) (Geometry, error) {
	switch {
	case depth < 0 || depth > qp.MaxDepth:
		return Geometry{}, fmt.Errorf("rings: depth %d is out of range: it must be 0 to %d", depth, qp.MaxDepth)
	case elemSize < 1 || elemSize > maxElem:
		return Geometry{}, fmt.Errorf("rings: element of %d bytes: the size must be 1 to %d", elemSize, maxElem)
	case pageSize < 8 || pageSize&(pageSize-1) != 0:
		return Geometry{}, fmt.Errorf("rings: page size %d is not a power of two from 8 on", pageSize)
	}
	g := Geometry{
		slots:    1 << bits.Len(uint(depth)),
		log2Elem: uint8(bits.Len(uint(elemSize - 1))),
		pageSize: pageSize,
	}
	page := uint64(pageSize)
	size := (headerSize + uint64(g.slots)<<g.log2Elem + page - 1) &^ (page - 1)
	if size > math.MaxInt32 {
		return Geometry{}, fmt.Errorf("rings: %d slots of %d bytes take %d bytes, the limit is %d; "+
			"reduce the depth, the SGEs or the inline data", g.slots, g.ElemSize(), size, math.MaxInt32)
	}
	g.size = int(size)
	return g, nil
}

// Depth returns the capacity in elements: one less than the number of slots, and at least the
// requested depth. Programs post up to this number, so the queue behind the ring must have the
// same depth, and the program must be told this number.
func (g Geometry) Depth() int { return int(g.slots) - 1 }

// Slots returns the number of slots, a power of two.
func (g Geometry) Slots() int { return int(g.slots) }

// ElemSize returns the size of a slot in bytes, a power of two.
func (g Geometry) ElemSize() int { return 1 << g.log2Elem }

// Size returns the size of the buffer in bytes, a multiple of the page size.
func (g Geometry) Size() int { return g.size }

// mask returns the largest index.
func (g Geometry) mask() uint32 { return g.slots - 1 }

// withDepth returns the layout of a ring with the same elements and another depth.
func (g Geometry) withDepth(depth int) (Geometry, error) {
	return NewGeometry(depth, g.ElemSize(), g.pageSize)
}
