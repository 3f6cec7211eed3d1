package perftest

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Test is one of perftest's tools.
type Test uint8

// Supported tools. Their exchange is the same with every connection type.
const (
	WriteBW Test = iota
	ReadBW
	SendBW
	AtomicBW
	WriteLat
	ReadLat
	SendLat
	AtomicLat
)

// Tests lists all tests.
var Tests = []Test{WriteBW, ReadBW, SendBW, AtomicBW, WriteLat, ReadLat, SendLat, AtomicLat}

// Latency reports whether the test measures time per message instead of bandwidth.
func (t Test) Latency() bool { return t >= WriteLat }

// Send reports whether the test uses SEND.
func (t Test) Send() bool { return t == SendBW || t == SendLat }

// Write reports whether the test uses RDMA WRITE.
func (t Test) Write() bool { return t == WriteBW || t == WriteLat }

// Atomic reports whether the test uses atomics.
func (t Test) Atomic() bool { return t == AtomicBW || t == AtomicLat }

// Fetches reports whether the peer answers each message with data from its memory: READ and
// atomics.
func (t Test) Fetches() bool { return t == ReadBW || t == ReadLat || t.Atomic() }

// String returns the tool's name without its ib_ prefix.
func (t Test) String() string {
	return [...]string{"write_bw", "read_bw", "send_bw", "atomic_bw", "write_lat", "read_lat", "send_lat",
		"atomic_lat"}[t]
}

// Kind is the kind of a Step.
type Kind uint8

// The wire kinds are items exchanged with the peer. The local kinds are actions of this end that
// must precede the next item.
const (
	// Wire.
	VersionItem   Kind = iota
	CycleItem          // page size: memory that small messages cycle through
	LineItem           // cache line size: the stride of that cycle
	MTUItem            // path MTU
	KeyItem            // key of queue pair QP
	KeyRepeatItem      // key of queue pair QP again, for the report of the connected ends
	GateItem           // empty key, before or after rdma_cm connects the queue pairs
	SyncItem           // key of queue pair 0, only to synchronize
	ReportItem         // result of the run, five fields
	CloseItem          // like SyncItem; over TCP, "done" follows

	// Local.
	Listen       // from here on a client may connect its queue pairs
	Connect      // move every queue pair to RTR, and to RTS if it sends; with rdma_cm, connect all
	PostReceives // post the receives of the next run
	Run          // traffic of Size bytes per message
)

// Wire reports whether the step is exchanged with the peer.
func (k Kind) Wire() bool { return k <= CloseItem }

// String names the kind.
func (k Kind) String() string {
	return [...]string{"version", "page size", "cache line size", "path MTU", "key", "key (again)", "gate", "sync",
		"report", "close", "listen", "connect", "post receives", "run"}[k]
}

// Step is one step of a test.
type Step struct {
	Kind Kind
	QP   int    // KeyItem, KeyRepeatItem
	Size uint64 // PostReceives, Run: bytes per message
}

// String names the step.
func (s Step) String() string {
	switch s.Kind {
	case KeyItem, KeyRepeatItem:
		return fmt.Sprintf("%v of QP %d", s.Kind, s.QP)
	case Run, PostReceives:
		return fmt.Sprintf("%v (%d bytes)", s.Kind, s.Size)
	}
	return s.Kind.String()
}

// Params holds the parameters of a test that determine its script.
type Params struct {
	Role          exchange.Role
	QPs           int
	Sizes         []uint64 // message sizes in order; several with -a
	All           bool     // -a
	Bidirectional bool     // -b, bandwidth tests only
	Duration      bool     // -D
	Immediate     bool     // --write_with_imm, WRITE tests only
	Managed       bool     // -R: rdma_cm connects the queue pairs and carries the exchange
}

// AllSizes returns the message sizes of -a: the powers of two from 2 to 8388608.
func AllSizes() []uint64 {
	var sizes []uint64
	for s := uint64(2); s <= 8<<20; s *= 2 {
		sizes = append(sizes, s)
	}
	return sizes
}

// Opening returns the first steps of every test. The maximum size of a datagram is known only
// after them.
func Opening() []Step {
	s := &script{}
	s.add(VersionItem, CycleItem, LineItem, MTUItem)
	return s.steps
}

// Script returns the steps of one end of a test after the Opening, in order. The wire steps of
// both ends are the same for all tests and parameters, so two ends with the same parameters never
// wait for different items.
func Script(t Test, p Params) []Step {
	s := &script{steps: make([]Step, 0, 16+2*p.QPs+5*len(p.Sizes))}
	connect := []Kind{Connect}
	if p.Managed {
		s.managed(p)
		connect = nil
	}
	switch {
	case t.Send():
		s.keys(KeyItem, p.QPs)
		s.add(connect...)
		s.add(SyncItem)
		s.keys(KeyRepeatItem, p.QPs)
	default:
		if t.Latency() {
			s.add(SyncItem)
		}
		s.keys(KeyItem, p.QPs)
		s.add(connect...)
		s.keys(KeyRepeatItem, p.QPs)
		s.add(SyncItem)
	}
	switch {
	case t.Send() && !t.Latency():
		s.sendBW(p)
	case t.Send():
		s.received(p)
		s.add(CloseItem)
	case t.Latency() && t.Fetches():
		if p.Role == exchange.Client {
			s.runs(p)
		}
		s.add(CloseItem)
	case t.Latency() && p.Immediate:
		s.received(p)
	case t.Latency():
		s.runs(p)
	case p.Immediate:
		s.immediateBW(p)
	default:
		s.oneSidedBW(p)
	}
	return s.steps
}

type script struct{ steps []Step }

func (s *script) add(kinds ...Kind) {
	for _, k := range kinds {
		s.steps = append(s.steps, Step{Kind: k})
	}
}

// managed connects the queue pairs with rdma_cm. The server must listen before the first gate:
// after it, the client connects at once.
func (s *script) managed(p Params) {
	if p.Role == exchange.Server {
		s.add(Listen)
	}
	s.add(GateItem, Connect, GateItem)
}

func (s *script) keys(k Kind, qps int) {
	for qp := range qps {
		s.steps = append(s.steps, Step{Kind: k, QP: qp})
	}
}

func (s *script) sized(k Kind, size uint64) { s.steps = append(s.steps, Step{Kind: k, Size: size}) }

// runs adds the traffic of each size.
func (s *script) runs(p Params) {
	for _, size := range p.Sizes {
		s.sized(Run, size)
	}
}

// received adds traffic that needs receives: both ends post them before the traffic of each size
// starts.
func (s *script) received(p Params) {
	for _, size := range p.Sizes {
		s.sized(PostReceives, size)
		s.add(SyncItem)
		s.sized(Run, size)
	}
}

// sendBW adds the traffic of send_bw.
func (s *script) sendBW(p Params) {
	for _, size := range p.Sizes {
		s.sized(PostReceives, size)
		s.add(SyncItem)
		s.sized(Run, size)
		if p.Bidirectional && !p.Duration {
			s.add(ReportItem)
		}
		if p.All {
			s.add(SyncItem)
		}
	}
	s.add(CloseItem)
}

// immediateBW adds the traffic of write_bw with immediate data, whose server counts the messages
// and reports by itself.
func (s *script) immediateBW(p Params) {
	for _, size := range p.Sizes {
		s.sized(PostReceives, size)
		s.add(SyncItem)
		s.sized(Run, size)
		if p.All {
			s.add(SyncItem)
		}
		if p.Bidirectional && !p.Duration {
			s.add(ReportItem)
		}
	}
	s.add(CloseItem)
}

// oneSidedBW adds the traffic of write_bw, read_bw and atomic_bw: the server of a unidirectional
// test only waits.
func (s *script) oneSidedBW(p Params) {
	if !p.Bidirectional {
		if p.Role == exchange.Client {
			s.runs(p)
		}
		s.add(SyncItem, ReportItem, CloseItem)
		return
	}
	for _, size := range p.Sizes {
		s.add(SyncItem)
		s.sized(Run, size)
		if p.All {
			s.add(SyncItem)
		}
		s.add(ReportItem)
	}
	s.add(CloseItem)
}
