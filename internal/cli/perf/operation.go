package perf

import (
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/verbs"
)

// Names of atomics in perftest.
const (
	cmpAndSwap  = "CMP_AND_SWAP"
	fetchAndAdd = "FETCH_AND_ADD"
)

// checkAtomic checks the operation and size of an atomic test.
func (p *params) checkAtomic() error {
	switch {
	case !p.test.Atomic():
		return nil
	case p.size != atomicSize:
		return app.Usagef("-s %s: an atomic is of %d bytes; omit -s", p.sizeText, atomicSize)
	case p.atomic != cmpAndSwap && p.atomic != fetchAndAdd:
		return app.Usagef("-A %s: choose %s or %s", p.atomic, cmpAndSwap, fetchAndAdd)
	}
	return nil
}

// twoSided reports whether a message consumes a receive of the other end.
func (p *params) twoSided() bool { return p.test.Send() || p.imm }

// opcode returns the operation of every message.
func (p *params) opcode() verbs.WROpcode {
	switch {
	case p.atomic == cmpAndSwap:
		return verbs.WRCmpSwap
	case p.test.Atomic():
		return verbs.WRFetchAdd
	case p.test.Fetches():
		return verbs.WRRead
	case p.test.Send():
		return verbs.WRSend
	case p.imm:
		return verbs.WRWriteImm
	}
	return verbs.WRWrite
}

// operand returns the value that atomics add or compare with. As in perftest, they add 1, and
// swap 0 for 0.
func (p *params) operand() uint64 {
	if p.atomic == fetchAndAdd {
		return 1
	}
	return 0
}

// access returns the peer's access rights to this end's memory.
func (p *params) access() verbs.Access {
	switch {
	case p.test.Atomic():
		return verbs.RemoteAtomic
	case p.test.Fetches():
		return verbs.RemoteRead
	case p.test.Send():
		return 0
	}
	return verbs.RemoteWrite
}
