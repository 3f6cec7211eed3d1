package transport

import (
	"errors"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// farPlace is a place of a pairEnd without a pointer to its memory. From limit on, reads and
// writes fail.
type farPlace struct {
	e     *pairEnd
	place int
	limit uint64
}

var errFar = errors.New("beyond the limit")

func (f *farPlace) Size() uint64 { return benchPage }

// reach returns n bytes at off, or an error and the bytes below the limit.
func (f *farPlace) reach(off uint64, n int) ([]byte, error) {
	b := f.e.place(f.place)
	if off > benchPage || uint64(n) > benchPage-off {
		f.e.m.fail("%v: an access of %d bytes at %d of place %d", f.e, n, off, f.place)
		return nil, errFar
	}
	if end := off + uint64(n); end > f.limit {
		return b[min(off, f.limit):f.limit], errFar
	}
	return b[off:][:n], nil
}

func (f *farPlace) ReadAt(p []byte, off uint64) error {
	b, err := f.reach(off, len(p))
	copy(p, b)
	return err
}

func (f *farPlace) WriteAt(p []byte, off uint64) error {
	b, err := f.reach(off, len(p))
	copy(b, p)
	return err
}

func (f *farPlace) WritePieces(pieces []mr.Piece) (stored int, err error) {
	for i := range pieces {
		if err := f.WriteAt(pieces[i].Data, pieces[i].Off); err != nil {
			return i, err
		}
	}
	return len(pieces), nil
}

// memory returns the memory that is registered at a place.
func (e *pairEnd) memory(place int) mr.Memory {
	if !e.m.distant {
		return mr.Bytes(e.place(place))
	}
	e.far[place] = &farPlace{e: e, place: place, limit: benchPage}
	return e.far[place]
}

// lend returns a packet, with room for an ICRC, that the machine may use until settle.
func (e *pairEnd) lend(packet []byte) []byte {
	b := append(packet[:len(packet):len(packet)], 0, 0, 0, 0)
	e.lent = append(e.lent, b)
	return b
}

// settle stores what is held back and overwrites the packets that it came from.
func (e *pairEnd) settle() {
	e.storeBatch.Settle()
	for i, b := range e.lent {
		copy(b, slices.Repeat([]byte{secret}, len(b)))
		e.lent[i] = nil
	}
	e.lent = e.lent[:0]
}

// distantSeeds are programs whose memory fails.
func distantSeeds() [][]byte {
	open := []byte{0, 0}
	send := func(end, opcode, n byte) []byte { return []byte{stepSend, end, opcode, 0, n, 0, 0, 0, 0} }
	recv := func(end byte) []byte { return []byte{stepRecv, end, 5} }
	out := func(end byte) []byte { return []byte{stepTransmit, end, 15} }
	trouble := func(end, place, limit byte) []byte { return []byte{stepTrouble, end, place, limit} }
	run := []byte{stepExchange, stepExchange}
	var all [][]byte
	for limit := range byte(10) {
		all = append(all,
			// WRITEs and a SEND, some of which can be stored.
			slices.Concat(open, recv(1), trouble(1, pairRW, limit), trouble(1, pairOwn, limit),
				send(0, 1, 1), send(0, 1, 5), send(0, 0, 5), run,
				[]byte{stepReconnect}, trouble(1, pairRW, 1), send(0, 1, 5), run),
			// READs whose memory cannot be read, or whose data cannot be stored.
			slices.Concat(open, send(0, 2, 1), send(0, 2, 5), out(0),
				trouble(1, pairRW, limit), trouble(0, pairOwn, limit), run),
			// Data to send that cannot be read.
			slices.Concat(open, trouble(0, pairRW, limit), recv(1), send(0, 0, 5), send(0, 1, 5), out(0), run),
		)
	}
	return append(all,
		// Forged requests behind a WRITE that cannot be stored: in one batch, with one key that
		// becomes invalid.
		slices.Concat(open, trouble(1, pairRW, 5), send(0, 1, 5), out(0), []byte{stepDuplicate, 1, 0, 15},
			[]byte{stepForge, 1, byte(slices.Index(pairOpcodes, bth.RCSendOnlyInv)), 0, 0, 0, 0, 0, 0, 1, 0}, run))
}
