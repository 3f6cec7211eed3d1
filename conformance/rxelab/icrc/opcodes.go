package icrc

import (
	"net/netip"
	"slices"
)

// Opcodes is a set of BTH opcodes.
type Opcodes [256]bool

// Add adds opcodes.
func (o *Opcodes) Add(ops ...int) {
	for _, op := range ops {
		o[uint8(op)] = true
	}
}

// List returns the opcodes in ascending order.
func (o *Opcodes) List() []int {
	var out []int
	for op, in := range o {
		if in {
			out = append(out, op)
		}
	}
	return out
}

// noteOpcodes adds the opcodes of a datagram whose packets are valid. All packets except the last
// have size bytes.
func (s *Summary) noteOpcodes(d datagram, size int) {
	from := d.source()
	o := s.Opcodes[from]
	for p := range slices.Chunk(d.payload, size) {
		o[p[0]] = true
	}
	if s.Opcodes == nil {
		s.Opcodes = map[netip.Addr]Opcodes{}
	}
	s.Opcodes[from] = o
}
