package trace

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
)

// keys is what R_Keys have been good for: what they reached before tells why they do not reach something else.
type keys map[keyOf]reached

type keyOf struct {
	host netip.Addr
	key  uint32
}

type reached struct {
	from, to uint64 // addresses, all of them between
	ops      uint16 // a bit for each operation
	frame    int    // of the latest answer
}

// maxKeys is how many are remembered; then all are forgotten.
const maxKeys = 4096

// reached notes that w was answered by the packet in hand.
func (a *Analyzer) reached(w *work) {
	if !w.reth && !w.dataOp() || w.total == 0 {
		return
	}
	if a.keys == nil {
		a.keys = keys{}
	}
	k := w.key()
	r, ok := a.keys[k]
	if !ok {
		if len(a.keys) >= maxKeys {
			clear(a.keys)
		}
		r = reached{from: w.va, to: w.va + w.total}
	}
	r.from, r.to, r.ops, r.frame = min(r.from, w.va), max(r.to, w.va+w.total), r.ops|1<<w.op, a.p.Number
	a.keys[k] = r
}

func (w *work) key() keyOf { return keyOf{w.m.Flow.Ends[1-w.m.From].Addr, w.rkey} }

// hint says what the capture tells of the key of w, which was refused with syn.
func (a *Analyzer) hint(syn bth.Syndrome, w *work) string {
	if syn != bth.NakRemoteAccess || !w.reth && !w.dataOp() {
		return ""
	}
	r, ok := a.keys[w.key()]
	switch {
	case !ok:
		return fmt.Sprintf("; key %#x has reached nothing before in this capture", w.rkey)
	case w.va < r.from || w.va+w.total > r.to:
		return fmt.Sprintf("; key %#x has reached no more than %#x to %#x before, last in frame %d, so this may be out of bounds", w.rkey, r.from, r.to, r.frame)
	case r.ops>>w.op&1 == 0:
		return fmt.Sprintf("; key %#x was good for another operation in frame %d, so it may not permit this one", w.rkey, r.frame)
	}
	return fmt.Sprintf("; key %#x worked in frame %d, so it may have been invalidated since, or belong to another protection domain", w.rkey, r.frame)
}
