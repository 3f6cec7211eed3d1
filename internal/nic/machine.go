package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// A machine is the transport of one queue pair, as package transport describes it.
// Every call is made with the shard's lock held.
type machine interface {
	Receive(now transport.Time, p *bth.Packet) transport.Verdict
	Transmit(now transport.Time, path *packet.Path, dst *packet.Batch, limit int) (more bool)
	NextTimeout() (transport.Time, bool)
	Timeout(now transport.Time)
	Modified(now transport.Time)
	Posted()
	Counters() *transport.Counters
	Progress() transport.Progress
}

// A completer is a machine whose requests are complete once they have left. Sent is called
// after the link took all that Transmit put into the batch; it reports whether Transmit
// has something to do again.
type completer interface {
	Sent(now transport.Time) (more bool)
}

// An invalidator is a machine whose peer can take keys away. Invalidates reports whether to receive p may do that.
type invalidator interface {
	Invalidates(p *bth.Packet) bool
}

// A datagramMachine has no peer: its requests leave by the link that Link names, in any
// turn another one, and its packets come from everywhere, with the header that tells.
type datagramMachine interface {
	Link() (index int, ok bool)
	ReceiveFrom(now transport.Time, p *bth.Packet, grh *transport.GRH) transport.Verdict
}

// newMachine returns the machine for q's type. The queue pairs of a shard share what they
// keep packets in.
func (s *shard) newMachine(q *qp.QP) (machine, error) {
	d := s.dev
	switch q.Type {
	case qp.RC:
		rc := transport.NewRC(q, d.keys, &d.transport)
		rc.ShareEarly(&s.early)
		rc.ShareGather(&s.gather)
		return rc, nil
	case qp.UC:
		uc := transport.NewUC(q, d.keys)
		uc.ShareGather(&s.gather)
		return uc, nil
	case qp.UD, qp.GSI:
		return transport.NewUD(q, d.keys), nil
	}
	return nil, fmt.Errorf("queue pair type %v is not supported: use %v, %v or %v", q.Type, qp.RC, qp.UC, qp.UD)
}
