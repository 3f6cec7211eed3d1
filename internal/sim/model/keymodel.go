package model

import (
	"slices"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// allAccess is the access that a region grants to a peer.
const allAccess = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic |
	mr.FlushGlobal | mr.FlushPersistent | mr.MWBind

// A keyModel is the model of a key: the memory to which the key leads and the access that it
// grants. Only the access can change: a translation change gives the region another key.
type keyModel struct {
	named, at, length uint64 // first address as requests name it, the same in node memory, length in bytes
	access            mr.Access
	owner             *end   // queue pair to which a type 2 window is bound, else nil
	parent            uint32 // key of the region to which the type 1 window is bound, else 0
}

// namedAddr returns the address by which key names the node memory address at.
func (n *node) namedAddr(key uint32, at uint64) uint64 {
	if o := n.open[key]; o != nil {
		return at - o.at + o.named
	}
	return at
}

// namedSGEs returns sg with its addresses translated by namedAddr.
func (n *node) namedSGEs(sg []qp.SGE) []qp.SGE {
	out := make([]qp.SGE, len(sg))
	for i, s := range sg {
		out[i] = qp.SGE{Addr: n.namedAddr(s.LKey, s.Addr), Length: s.Length, LKey: s.LKey}
	}
	return out
}

// granted returns the region by which e lets its peer access n bytes at addr, or nil.
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

func (o *keyModel) holds(addr, n uint64) bool {
	return addr >= o.named && n <= o.length && addr-o.named <= o.length-n
}

// covers reports whether the key leads to all memory that a requests.
func (o *keyModel) covers(a *scenario.Act) bool {
	n := a.Length()
	return a.Remote >= o.at && n <= o.length && a.Remote-o.at <= o.length-n
}

// keyBase returns the access flags and the first address of a key, for a zero-based key or one
// based at addr.
func keyBase(fromZero bool, access mr.Access, addr uint64) (mr.Access, uint64) {
	if fromZero {
		return access | mr.ZeroBased, 0
	}
	return access, addr
}

// register registers those of the end's two regions that do not exist.
func (e *end) register() {
	if e.local == nil {
		e.local = e.registerRegion(mr.LocalWrite, e.spec.Zero.Local)
	}
	if e.remote == nil {
		e.remote = e.registerRegion(allAccess, e.spec.Zero.Region)
	}
}

func (e *end) registerRegion(access mr.Access, fromZero bool) *mr.Region {
	n := e.node
	access, named := keyBase(fromZero, access, scenario.MemBase)
	r, err := n.keys.Register(n.pd, n.mem.mr(0), named, scenario.MemSize, access)
	e.must(err)
	n.open[r.RKey()] = &keyModel{named: named, at: scenario.MemBase, length: scenario.MemSize, access: access}
	return r
}

// reregisterLocal re-registers the region that e itself uses with another key and another IOVA.
// Requests posted with the former key and not yet executed must fail.
func (e *end) reregisterLocal(by uint64) {
	n := e.node
	if e.local == nil {
		return
	}
	delete(n.open, e.local.LKey())
	o := &keyModel{named: scenario.MemBase + by, at: scenario.MemBase, length: scenario.MemSize, access: mr.LocalWrite}
	r, err := n.keys.Reregister(e.local, &mr.Rereg{
		Change: mr.ChangeTranslation | mr.ChangeAccess, Memory: n.mem.mr(0), IOVA: o.named, Length: o.length,
		Access: o.access,
	})
	if e.must(err); err == nil {
		n.open[r.LKey()] = o
		e.local = r
	}
}

// watched reports whether a window is bound to the region that e's peer uses. Such a region must
// refuse to be changed or deregistered.
func (e *end) watched() bool {
	o := e.node.open[e.node.shared.RKey()]
	return e.window.Bound() || e.node.shared.Bound() && o != nil && o.parent == e.remote.RKey()
}

// deregister deregisters *r. That must fail if windows are bound to it.
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

// withheld lists access rights that reregister takes away, one at a time.
var withheld = [...]mr.Access{0, mr.RemoteWrite, mr.RemoteRead, mr.RemoteAtomic, mr.MWBind}

// reregister changes the access of the region that e's peer uses. With a.Match it also changes
// the translation, which must give the region another key.
func (e *end) reregister(a *scenario.Act) {
	n := e.node
	if e.remote == nil {
		return
	}
	key, stays := e.remote.RKey(), e.watched()
	o := *n.open[key]
	q := mr.Rereg{Change: mr.ChangeAccess, PD: n.pd}
	q.Access, _ = keyBase(e.spec.Zero.Region, allAccess&^withheld[a.Imm%uint32(len(withheld))], 0)
	if a.Match {
		o.at = scenario.MemBase + a.Add
		o.length = scenario.MemSize - a.Add
		q.Change |= mr.ChangeTranslation
		q.Memory, q.IOVA, q.Length = n.mem.mr(a.Add), o.named, o.length
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
