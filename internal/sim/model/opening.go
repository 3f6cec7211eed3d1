package model

import (
	"slices"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// allAccess is what a peer may do with the region it is given.
const allAccess = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic | mr.FlushGlobal | mr.FlushPersistent | mr.MWBind

// An opening is what a key of a node leads to, in the model's own words. A key that comes to
// lead elsewhere is another key: of one that stays, only the rights change.
type opening struct {
	wire, at, length uint64 // address by which it is named, place in memory, bytes
	access           mr.Access
	owner            *end   // on whose queue pair a window of type 2 is bound
	parent           uint32 // key of the region that the window of type 1 is bound to
}

// wire is the address by which a key names a place in memory.
func (n *node) wire(key uint32, at uint64) uint64 {
	if o := n.open[key]; o != nil {
		return at - o.at + o.wire
	}
	return at
}

// wired returns sg with the addresses by which its keys name the memory.
func (n *node) wired(sg []qp.SGE) []qp.SGE {
	out := make([]qp.SGE, len(sg))
	for i, s := range sg {
		out[i] = qp.SGE{Addr: n.wire(s.LKey, s.Addr), Length: s.Length, LKey: s.LKey}
	}
	return out
}

// granted is the region by which e lets its peer use n bytes at an address, or nil.
func (e *end) granted(rkey uint32, addr, n uint64, need mr.Access) *mr.Region {
	r, o := e.node.keys.Lookup(rkey), e.node.open[rkey]
	switch {
	case slices.Contains(e.gone, rkey):
		return nil
	case r == nil || o == nil || o.owner != nil && o.owner != e || o.access&need != need:
		return nil
	case n > 0 && !o.holds(addr, n):
		return nil
	}
	return r
}

func (o *opening) holds(addr, n uint64) bool {
	return addr >= o.wire && n <= o.length && addr-o.wire <= o.length-n
}

// covers reports whether all that a asks for lies in what the key leads to.
func (o *opening) covers(a *scenario.Act) bool {
	n := a.Length()
	return a.Remote >= o.at && n <= o.length && a.Remote-o.at <= o.length-n
}

// counts returns the access with which a key counts addresses from 0, or as it is, and its
// first address.
func counts(fromZero bool, access mr.Access, addr uint64) (mr.Access, uint64) {
	if fromZero {
		return access | mr.ZeroBased, 0
	}
	return access, addr
}

// register makes the two regions of the end, if they are not there.
func (e *end) register() {
	if e.local == nil {
		e.local = e.registers(mr.LocalWrite, e.spec.Zero.Local)
	}
	if e.remote == nil {
		e.remote = e.registers(allAccess, e.spec.Zero.Region)
	}
}

func (e *end) registers(access mr.Access, fromZero bool) *mr.Region {
	n := e.node
	access, wire := counts(fromZero, access, scenario.MemBase)
	r, err := n.keys.Register(n.pd, n.mem.mr(0), wire, scenario.MemSize, access)
	e.must(err)
	n.open[r.RKey()] = &opening{wire: wire, at: scenario.MemBase, length: scenario.MemSize, access: access}
	return r
}

// repin gives the region that e itself uses another key and other addresses: what was posted
// with the former key and not executed fails.
func (e *end) repin(by uint64) {
	n := e.node
	if e.local == nil {
		return
	}
	delete(n.open, e.local.LKey())
	o := &opening{wire: scenario.MemBase + by, at: scenario.MemBase, length: scenario.MemSize, access: mr.LocalWrite}
	r, err := n.keys.Reregister(e.local, &mr.Rereg{
		Change: mr.ChangeTranslation | mr.ChangeAccess, Memory: n.mem.mr(0), IOVA: o.wire, Length: o.length, Access: o.access,
	})
	if e.must(err); err == nil {
		n.open[r.LKey()] = o
		e.local = r
	}
}

// watched reports whether a window is bound to the region that e's peer uses, which then
// stays as it is.
func (e *end) watched() bool {
	o := e.node.open[e.node.shared.RKey()]
	return e.window.Bound() || e.node.shared.Bound() && o != nil && o.parent == e.remote.RKey()
}

// deregister ends a region; one with windows stays.
func (e *end) deregister(r **mr.Region) {
	if *r == nil {
		return
	}
	key, stays := (*r).RKey(), *r == e.remote && e.watched()
	if err := e.node.keys.Deregister(*r); (err != nil) != stays {
		e.fail("deregistering key %#x, windows are bound to it: %t: %v", key, stays, err)
	} else if err == nil {
		delete(e.node.open, key)
		*r = nil
	}
}

// withheld are rights that a region can do without.
var withheld = [...]mr.Access{0, mr.RemoteWrite, mr.RemoteRead, mr.RemoteAtomic, mr.MWBind}

// reregister changes the region that e's peer uses: its rights, and with Match what memory it
// leads to by another key.
func (e *end) reregister(a *scenario.Act) {
	n := e.node
	if e.remote == nil {
		return
	}
	key, stays := e.remote.RKey(), e.watched()
	o := *n.open[key]
	q := mr.Rereg{Change: mr.ChangeAccess, PD: n.pd}
	q.Access, _ = counts(e.spec.Zero.Region, allAccess&^withheld[a.Imm%uint32(len(withheld))], 0)
	if a.Match {
		o.at = scenario.MemBase + a.Add
		o.length = scenario.MemSize - a.Add
		q.Change |= mr.ChangeTranslation
		q.Memory, q.IOVA, q.Length = n.mem.mr(a.Add), o.wire, o.length
	}
	o.access = q.Access
	r, err := n.keys.Reregister(e.remote, &q)
	if (err != nil) != stays {
		e.fail("reregistering key %#x, windows are bound to it: %t: %v", key, stays, err)
	}
	if err != nil {
		return
	}
	if a.Match == (r.RKey() == key) {
		e.fail("reregistering key %#x, translation %t, gives key %#x", key, a.Match, r.RKey())
	}
	delete(n.open, key)
	n.open[r.RKey()] = &o
	e.remote = r
}
