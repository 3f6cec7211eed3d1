package model

import (
	"slices"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// Each end has two keys that work requests register and invalidate: a fast-registration memory
// region over all of the node's memory, and a type 2 memory window over the region that its peer
// uses. A registration keeps the key, so a peer may use it again. Each node has one type 1 window
// that all of its ends bind.

// windowAccess is the access that windows grant to a peer.
const windowAccess = mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic

// allocKeys allocates the fast-registration memory region and the type 2 window.
func (e *end) allocKeys() {
	var err error
	e.fast, err = e.node.keys.AllocFast(e.node.pd, scenario.MemSize)
	e.must(err)
	e.window, err = e.node.keys.AllocWindow(e.node.pd, mr.WindowType2)
	e.must(err)
	access, named := keyBase(e.spec.Zero.Fast, allAccess&^mr.MWBind, scenario.MemBase)
	e.node.open[e.fast.Key()] = &keyModel{named: named, at: scenario.MemBase, length: scenario.MemSize, access: access}
}

// freeKeys frees what allocKeys has allocated.
func (e *end) freeKeys() {
	e.must(e.node.keys.DeallocWindow(e.window))
	e.must(e.node.keys.FreeFast(e.fast))
}

// keyWork turns wr into the request that changes the state of the fast-registration memory region
// or the window: it registers, or invalidates if the key is registered at posting time. If several
// such requests are queued, some of them must fail.
func (e *end) keyWork(a *scenario.Act, wr *qp.SendWR) {
	switch {
	case wr.Opcode == qp.WRRegMR && e.fast.Registered():
		wr.Opcode, wr.Imm = qp.WRLocalInv, e.fast.Key()
	case wr.Opcode == qp.WRRegMR:
		o := e.node.open[e.fast.Key()]
		wr.Reg = &mr.FastReg{
			Key: e.fast.Key(), NewKey: e.fast.Key(), Memory: e.node.mem.mr(0), IOVA: o.named, Length: o.length,
			Access: o.access,
		}
	case a.Key == scenario.KeyShared && a.Imm%8 == 1 && e.node.shared.Bound():
		wr.Opcode, wr.Imm = qp.WRLocalInv, e.node.shared.RKey() // must fail
	case a.Key == scenario.KeyShared:
		e.makeBindShared(a, wr)
	case e.window.Bound():
		wr.Opcode, wr.Imm = qp.WRLocalInv, e.window.RKey()
	default:
		e.makeBindWindow(wr)
	}
}

// makeBindWindow makes wr bind the type 2 window to all of the region that the peer uses. The
// window gets a new key if its old one led elsewhere.
func (e *end) makeBindWindow(wr *qp.SendWR) {
	n, o := e.node, keyModel{named: scenario.MemBase, at: scenario.MemBase, length: scenario.MemSize}
	b := &mr.Bind{Key: e.window.RKey(), NewKey: e.window.RKey()}
	if e.remote != nil {
		o = *n.open[e.remote.RKey()]
		b.LKey = e.remote.LKey()
	}
	b.Addr, b.Length, o.owner = o.named, o.length, e
	b.Access, o.named = keyBase(e.spec.Zero.Window, windowAccess, o.named)
	o.access = b.Access
	for was := n.open[b.NewKey]; was != nil && *was != o; was = n.open[b.NewKey] {
		b.NewKey = mr.IncRKey(b.NewKey)
	}
	n.open[b.NewKey] = &o
	wr.Bind = b
}

// makeBindShared makes wr bind the type 1 window, or unbind it if a.Match is set. Each binding has
// a new key.
func (e *end) makeBindShared(a *scenario.Act, wr *qp.SendWR) {
	n := e.node
	n.binds++
	b := &mr.Bind{Key: n.shared.RKey(), Access: windowAccess}
	b.NewKey = b.Key&^0xff | (n.first+n.binds)&0xff
	if a.Imm%4 == 0 {
		b.Access = mr.RemoteRead
	}
	if e.remote != nil {
		b.LKey = e.remote.LKey()
	}
	if !a.Match {
		b.Addr, b.Length = n.namedAddr(b.LKey, a.Remote), a.Add
	}
	n.open[b.NewKey] = &keyModel{named: b.Addr, at: a.Remote, length: b.Length, access: b.Access, parent: b.LKey}
	wr.Bind = b
}

// remoteKey returns the R_Key of e's node that e's peer uses in the request that a describes: that
// of the fast-registration memory region or a window if a selects it and it is valid now, else that
// of the region.
func (e *end) remoteKey(a *scenario.Act) uint32 {
	switch {
	case a.Wrong == scenario.WrongRKey:
		return noKey
	case a.Key == scenario.KeyFast && e.fast.Registered():
		return e.fast.Key()
	case a.Key == scenario.KeyWindow && e.window.Bound() && a.Op != qp.WRFlush:
		return e.window.RKey()
	case a.Key == scenario.KeyShared && e.node.shared.Bound() && a.Op != qp.WRFlush &&
		e.node.open[e.node.shared.RKey()].covers(a):
		return e.node.shared.RKey()
	case e.remote != nil:
		return e.remote.RKey()
	}
	return noKey
}

// makeInvalidate makes wr, a SEND with invalidate, name a valid key of the peer, or turns it into a
// SEND if there is none. The peer must refuse to invalidate a type 1 window.
func (e *end) makeInvalidate(a *scenario.Act, wr *qp.SendWR) {
	switch {
	case a.Key == scenario.KeyShared && a.Imm%4 == 0 && e.node.shared.Bound():
		wr.Imm = e.node.shared.RKey()
	case e.fast.Registered():
		wr.Imm = e.fast.Key()
	case e.window.Bound():
		wr.Imm = e.window.RKey()
	default:
		wr.Opcode = qp.WRSend
	}
}

// mayInvalidate reports whether the peer may invalidate key.
func (e *end) mayInvalidate(key uint32) bool {
	return key == e.fast.Key() || key == e.window.RKey() && e.window.Bound() && !slices.Contains(e.gone, key)
}

// whyWrongKeyStatus returns why a local operation on keys must not fail with status, or "" if it
// may.
func (e *end) whyWrongKeyStatus(s *sent, status qp.WCStatus) string {
	switch {
	case s.op == qp.WRRegMR && status == qp.WCLocQPOpErr && e.fast.Registered(),
		s.op == qp.WRBindMW && status == qp.WCMWBindErr && e.refusesBind(s.bind),
		s.op == qp.WRLocalInv && status == qp.WCLocQPOpErr && !e.mayInvalidate(s.imm):
		return ""
	}
	return "the keys are as they should be"
}

// refusesBind reports whether bind b must fail.
func (e *end) refusesBind(b *mr.Bind) bool {
	n := e.node
	if b.Key != e.window.RKey() && b.Key != n.shared.RKey() || b.Key == e.window.RKey() && e.window.Bound() {
		return true
	}
	o := n.open[b.LKey]
	return b.Length > 0 && (o == nil || n.keys.Lookup(b.LKey) == nil || o.access&mr.MWBind == 0 ||
		o.access&mr.ZeroBased != 0 || !o.holds(b.Addr, b.Length))
}

// workedOnKeys checks a local operation on keys that completed with success: no window is bound
// to a zero-based region, a bind of the type 1 window ended the previous binding, and nothing
// invalidated that window.
func (e *end) workedOnKeys(s *sent) {
	n, b := e.node, s.bind
	shared := n.shared.RKey() >> 8
	if s.op == qp.WRLocalInv && s.imm>>8 == shared {
		e.fail("request %d invalidates the window %#x of type 1", s.id, s.imm)
	}
	if s.op != qp.WRBindMW {
		return
	}
	if o := n.open[b.LKey]; b.Length > 0 && o != nil && (o.access&mr.ZeroBased != 0 || !o.holds(b.Addr, b.Length)) {
		e.fail("request %d binds a window to %d bytes at %#x of the region %#x, which has %+v", s.id, b.Length,
			b.Addr, b.LKey, *o)
	}
	if b.Key>>8 != shared {
		return
	}
	if n.keys.Lookup(b.Key) != nil || b.Length == 0 && n.keys.Lookup(b.NewKey) != nil {
		e.fail("request %d binds the window %#x to %d bytes, and the former binding is still good", s.id,
			b.Key, b.Length)
	}
}

// endings returns the queued LOCAL_INVs of valid keys, except of the type 1 window, whose key
// becomes invalid by the next bind.
func (e *end) endings() (waiting []*sent) {
	for _, s := range e.sends[e.oldest:] {
		if s.op == qp.WRLocalInv && s.imm>>8 != e.node.shared.RKey()>>8 && e.node.keys.Lookup(s.imm) != nil {
			waiting = append(waiting, s)
		}
	}
	return waiting
}

// checkEndings checks, after a turn to send, that no key was invalidated before its LOCAL_INV was
// the oldest request: earlier requests may still need the key.
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
