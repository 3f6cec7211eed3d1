package sim

import (
	"slices"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Each end has two keys that come and go by work requests: a fast region over all of the
// node's memory and a memory window over the region that its peer uses. Registering keeps
// the key, so that a peer may use it again.

// windowAccess is what a peer may do by a window.
const windowAccess = mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic

// allocKeys makes the two.
func (e *end) allocKeys() {
	var err error
	e.fast, err = e.node.keys.AllocFast(e.node.pd, memSize)
	e.must(err)
	e.window, err = e.node.keys.AllocWindow(e.node.pd, mr.WindowType2)
	e.must(err)
}

// freeKeys ends them.
func (e *end) freeKeys() {
	e.must(e.node.keys.DeallocWindow(e.window))
	e.must(e.node.keys.FreeFast(e.fast))
}

// keyWork makes wr the request that takes the fast region or the window to its other state,
// as it is when posted: one that was registered is invalidated. Where such requests queue up,
// some of them must fail.
func (e *end) keyWork(wr *qp.SendWR) {
	switch {
	case wr.Opcode == qp.WRRegMR && e.fast.Registered():
		wr.Opcode, wr.Imm = qp.WRLocalInv, e.fast.Key()
	case wr.Opcode == qp.WRRegMR:
		wr.Reg = &mr.FastReg{
			Key: e.fast.Key(), NewKey: e.fast.Key(), Memory: e.node.mem.mr(), IOVA: memBase, Length: memSize, Access: allAccess &^ mr.MWBind,
		}
	case e.window.Bound():
		wr.Opcode, wr.Imm = qp.WRLocalInv, e.window.RKey()
	default:
		wr.Bind = &mr.Bind{Key: e.window.RKey(), NewKey: e.window.RKey(), Addr: memBase, Length: memSize, Access: windowAccess}
		if e.remote != nil {
			wr.Bind.LKey = e.remote.LKey()
		}
	}
}

// offered is the key by which e's peer asks for what a describes: by that of the fast region
// or the window where they are good when it is posted.
func (e *end) offered(a *Act) uint32 {
	switch {
	case a.Wrong == WrongRKey:
		return noKey
	case a.Key == KeyFast && e.fast.Registered():
		return e.fast.Key()
	case a.Key == KeyWindow && e.window.Bound() && a.Op != qp.WRFlush:
		return e.window.RKey()
	case e.remote != nil:
		return e.remote.RKey()
	}
	return noKey
}

// invalidates makes wr, a SEND with invalidate, name a key of the peer's; without one that
// is good it is a SEND.
func (e *end) invalidates(wr *qp.SendWR) {
	switch {
	case e.fast.Registered():
		wr.Imm = e.fast.Key()
	case e.window.Bound():
		wr.Imm = e.window.RKey()
	default:
		wr.Opcode = qp.WRSend
	}
}

// mayInvalidate reports whether the peer may end this key.
func (e *end) mayInvalidate(key uint32) bool {
	return key == e.fast.Key() || key == e.window.RKey() && e.window.Bound()
}

// unjustKey says why work on keys must not fail, "" if it may.
func (e *end) unjustKey(s *sent, status qp.WCStatus) string {
	switch {
	case s.op == qp.WRRegMR && status == qp.WCLocQPOpErr && e.fast.Registered(),
		s.op == qp.WRBindMW && status == qp.WCMWBindErr && (e.window.Bound() || e.remote == nil),
		s.op == qp.WRLocalInv && status == qp.WCLocQPOpErr && !e.mayInvalidate(s.imm):
		return ""
	}
	return "the keys are as they should be"
}

// endings are the LOCAL_INVs that wait in the queue for a key that is good.
func (e *end) endings() (waiting []*sent) {
	for _, s := range e.sends[e.oldest:] {
		if s.op == qp.WRLocalInv && e.node.keys.Lookup(s.imm) != nil {
			waiting = append(waiting, s)
		}
	}
	return waiting
}

// checkEndings checks after a turn to send that no key was ended before its LOCAL_INV was
// the oldest request: those before it may still need the key.
func (e *end) checkEndings(waiting []*sent) {
	over := map[uint32]bool{} // keys whose LOCAL_INV completed in this turn
	for _, s := range waiting {
		switch outstanding := e.head() != nil && slices.Contains(e.sends[e.oldest:], s); {
		case !outstanding:
			over[s.imm] = true
		case !over[s.imm] && e.node.keys.Lookup(s.imm) == nil:
			e.fail("key %#x ends before its LOCAL_INV, request %d, is the oldest", s.imm, s.id)
		}
	}
}
