package transport

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// The part of the model for windows and FLUSHes. Each end has one window of type 2. The end binds
// it, the peer writes and reads through it, and one of the two invalidates it, so late copies of
// requests arrive when the window is invalid or bound with another key.

type winState int

const (
	winShut winState = iota
	winBinding
	winOpen
	winShutting
)

type modelWindow struct {
	window   *mr.Window
	winState winState
	winUsed  bool     // the peer has posted a request through it since it was bound
	invalid  []uint64 // receives that must report an invalidation

	flushed     flushCounter
	wantFlushes int
}

// flushCounter is addressable memory that counts its flushes.
type flushCounter struct {
	mr.Addressable
	n int
}

func (f *flushCounter) Flush(off, n uint64, _ bool) error {
	f.n++
	return nil
}

// opcode draws the next operation of end e: a SEND if the state of a window does not permit the
// drawn one.
func (m *model) opcode(e, peer *modelNode) qp.WROpcode {
	ops := []qp.WROpcode{
		qp.WRSend, qp.WRSendImm, qp.WRWrite, qp.WRWriteImm, qp.WRRead, qp.WRFetchAdd, qp.WRCmpSwap,
		qp.WRAtomicWrite, qp.WRFlush, qp.WRBindMW, qp.WRSendInv, qp.WRLocalInv,
	}
	op := ops[m.rng.IntN(len(ops))]
	switch {
	case op == qp.WRBindMW && e.winState != winShut,
		op == qp.WRSendInv && peer.winState != winOpen,
		op == qp.WRLocalInv && (e.winState != winOpen || e.winUsed):
		return qp.WRSend
	}
	return op
}

func (e *modelNode) bind(wr *qp.SendWR) {
	key := e.window.RKey()
	wr.Bind = &mr.Bind{
		Key: key, NewKey: mr.IncRKey(key), LKey: e.region.LKey(), Addr: modelWin, Length: modelEnd - modelWin,
		Access: mr.RemoteWrite | mr.RemoteRead,
	}
	e.winState, e.winUsed = winBinding, false
}

// through draws whether wr uses the window of peer.
func (m *model) through(peer *modelNode, wr *qp.SendWR) bool {
	if peer.winState != winOpen || m.rng.IntN(2) == 0 {
		return false
	}
	wr.RKey, peer.winUsed = peer.window.RKey(), true
	return true
}

// invalidate makes wr invalidate the window of peer once the READs through it are complete.
func (m *model) invalidate(peer *modelNode, wr *qp.SendWR) {
	wr.Imm = peer.window.RKey()
	wr.Flags |= qp.Fence
	peer.winState = winShutting
	peer.invalid = append(peer.invalid, peer.recvs-1)
}

// completed records what the completion of a request says about the window.
func (e *modelNode) completed(wc *qp.WC) {
	switch wc.Opcode {
	case qp.WCBindMW:
		e.winState = winOpen
	case qp.WCLocalInv:
		e.winState = winShut
	}
}

// received checks that a receive reports an invalidation if and only if it must.
func (e *modelNode) received(wc *qp.WC) error {
	want := len(e.invalid) > 0 && e.invalid[0] == e.recvDone
	if got := wc.Flags&qp.WithInv != 0; got != want {
		return fmt.Errorf("invalidation told: %v, want %v", got, want)
	}
	if !want {
		return nil
	}
	if wc.Imm != e.window.RKey() || e.window.Bound() {
		return fmt.Errorf("invalidated %#x; the window has key %#x, bound: %v", wc.Imm, e.window.RKey(),
			e.window.Bound())
	}
	e.invalid = e.invalid[1:]
	e.winState = winShut
	return nil
}
