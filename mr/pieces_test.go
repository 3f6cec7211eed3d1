package mr

import (
	"errors"
	"testing"
)

// piecewise is memory that stores several pieces in one call and records them.
type piecewise struct {
	Memory
	pieces []Piece
}

func (m *piecewise) WritePieces(pieces []Piece) (int, error) {
	m.pieces = append(m.pieces, pieces...)
	return len(pieces), nil
}

func TestPiecesAreStoredUpToOneOutOfBounds(t *testing.T) {
	m := &piecewise{Memory: Bytes(make([]byte, 100))}
	table := NewTable([32]byte{}, 1)
	r, err := table.Register(&PD{}, m, 0x1000, 100, LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 8)
	for _, c := range []struct {
		third  uint64
		stored int
		fault  Fault
	}{{0x1000 + 92, 3, OK}, {0x1000 + 93, 2, OutOfBounds}, {0xfff, 2, OutOfBounds}, {1<<64 - 4, 2, OutOfBounds}} {
		m.pieces = nil
		n, err := r.WritePieces([]Piece{
			{Off: 0x1000, Data: b}, {Off: 0x1004, Data: b[:1], Final: true}, {Off: c.third, Data: b},
		})
		fault, e := OK, (*AccessError)(nil)
		if errors.As(err, &e) {
			fault = e.Fault
		}
		if n != c.stored || len(m.pieces) != c.stored || fault != c.fault || (e == nil) != (err == nil) {
			t.Errorf("third piece at %#x: %d stored, %d given, %v", c.third, n, len(m.pieces), err)
		}
		if m.pieces[0].Off != 0 || m.pieces[1].Off != 4 || !m.pieces[1].Final || c.stored > 2 && m.pieces[2].Off != 92 {
			t.Errorf("the memory was given %+v", m.pieces)
		}
	}
	if n, err := r.WritePieces(nil); n != 0 || err != nil {
		t.Errorf("no pieces: %d, %v", n, err)
	}
	if err := table.Deregister(r); err != nil {
		t.Fatal(err)
	}
	m.pieces = nil
	if n, err := r.WritePieces([]Piece{{Off: 0x1000, Data: b}}); n != 0 || err == nil || m.pieces != nil {
		t.Errorf("a region that is gone: %d stored, %v", n, err)
	}
}
