package transport

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// pairSecret must not occur in any packet. It is secret repeated, so that sums of added values
// cannot produce it.
var pairSecret = bytes.Repeat([]byte{secret}, 4)

// match is two machines and the wire between them. The input is a program: the requests that both
// ends post, and what the wire does to each packet.
type match struct {
	ends    [2]*pairEnd
	wire    [2][][]byte // packets in flight to each end, oldest first
	now     Time
	batch   *packet.Batch
	program []byte
	distant bool // memory of both ends has no pointer to it and may fail
	err     error
}

// maxWire is the maximum number of packets in flight to one end; further ones push out the
// oldest.
const maxWire = 64

func newMatch(program []byte, distant bool) *match {
	m := &match{now: 1, program: program, distant: distant}
	m.batch = benchBatches.Get().(*packet.Batch)
	all := mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic | mr.FlushGlobal
	for i := range m.ends {
		m.ends[i] = newPairEnd(m, bth.QPN(0x11*(i+1)), pick(m, all, all, all, mr.RemoteWrite, mr.RemoteRead, 0))
	}
	a, b := m.ends[0], m.ends[1]
	a.peer, b.peer = b, a
	m.connect()
	return m
}

// connect brings both ends to RTS, with an empty wire.
func (m *match) connect() {
	m.wire = [2][][]byte{}
	m.ends[0].connect(0xfffff0, 0xfffff8)
	m.ends[1].connect(0xfffff8, 0xfffff0)
}

func (m *match) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

func (m *match) must(err error) {
	if err != nil {
		m.fail("%v", err)
	}
}

// byte returns the next byte of the program, 0 after its end.
func (m *match) byte() byte {
	if len(m.program) == 0 {
		return 0
	}
	v := m.program[0]
	m.program = m.program[1:]
	return v
}

func (m *match) end() *pairEnd { return m.ends[m.byte()%2] }

func (m *match) index(e *pairEnd) int { return slices.Index(m.ends[:], e) }

func (m *match) put(to *pairEnd, raw []byte) {
	w := &m.wire[m.index(to)]
	if len(*w) == maxWire {
		*w = slices.Delete(*w, 0, 1)
	}
	*w = append(*w, raw)
}

// settle runs both ends over a wire without faults until all requests have ended, with
// completions or in ERR.
func (m *match) settle() {
	for _, e := range m.ends {
		if e.q.State() == qp.SQD {
			e.modify(qp.RTS)
		}
	}
	for rounds := 0; m.err == nil; rounds++ {
		if rounds > 5000 {
			m.fail("the two ends do not come to rest")
		}
		if m.exchange() {
			continue
		}
		next, any := Time(0), false
		for _, e := range m.ends {
			if at, ok := e.c.NextTimeout(); ok && (!any || at < next) {
				next, any = at, true
			}
		}
		if !any {
			break
		}
		m.now = max(m.now, next)
		for _, e := range m.ends {
			e.expire()
			e.check()
		}
	}
	for _, e := range m.ends {
		if n := e.q.SQ.Len(); n > 0 {
			m.fail("%v: %d work requests wait in %v, and no timer runs", e, n, e.q.State())
		}
	}
}

// exchange lets both ends send all they have and delivers it. It returns false if there was
// nothing.
func (m *match) exchange() (moved bool) {
	for i, e := range m.ends {
		moved = e.flush() || moved
		arriving := m.wire[i]
		m.wire[i] = nil
		for _, raw := range arriving {
			e.receive(raw)
			moved = true
		}
		e.check()
	}
	return moved
}

// FuzzPair connects two machines. The input determines which requests both ends post, when
// regions are registered and deregistered, and what happens to each packet: it may be lost,
// duplicated, reordered, changed (with a right ICRC) or forged. In every case, memory without the
// right key is neither changed nor disclosed, work requests complete once and in order, an end
// sends no more than it was asked for, and both become idle.
func FuzzPair(f *testing.F) {
	for _, seed := range pairSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if err := newMatch(program, false).play(); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzDistantPair is FuzzPair with memory that neither machine accesses by pointer: payloads are
// held back and stored together, and the input determines when and where that fails. Received
// packets are overwritten once they are stored.
func FuzzDistantPair(f *testing.F) {
	for _, seed := range append(pairSeeds(), distantSeeds()...) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		if err := newMatch(program, true).play(); err != nil {
			t.Fatal(err)
		}
	})
}

// play executes the program and checks the final state.
func (m *match) play() error {
	for steps := 0; len(m.program) > 0 && m.err == nil && steps < 400; steps++ {
		pick(m, matchSteps...)(m)
		for _, e := range m.ends {
			e.settle()
			e.check()
		}
	}
	m.settle()
	for _, e := range m.ends {
		e.end()
	}
	m.batch.Reset()
	benchBatches.Put(m.batch)
	return m.err
}
