package respond

import (
	"github.com/gorxe/gorxe/internal/pace"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

// perftest answers a tool of perftest.
func (s *session) perftest() error {
	if err := s.open(); err != nil {
		return err
	}
	s.working.Go(s.watchProgress)
	s.working.Go(func() { s.cancel(failure(failed, s.traffic())) })
	p := &perftestEnd{session: s, byPeer: map[uint32]*queue{}, keyCount: map[*queue]int{}}
	if err := wire.Answer(&wire.Lines{Conn: s.conn, R: s.in, ItemTime: s.r.limits.Hello}, p); err != nil {
		return failure(badItem, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.qps) > 0 && s.sentPackets() == 0 {
		return &earlyEnd{noPacket, s.errNothing()} // clients of UC and UD are satisfied when they have sent
	}
	return nil
}

// perftestEnd is the server side of the exchange of a session.
type perftestEnd struct {
	*session
	mtu       verbs.MTU
	byPeer    map[uint32]*queue // by the client's QPN
	keyCount  map[*queue]int    // number of times the client sent the key of the queue pair
	itemCount int               // items so far; each field of a report is one
	pace      pace.Bucket       // of items
}

func (p *perftestEnd) MTU() uint8 { return uint8(p.here.MTU.Enum()) }

func (p *perftestEnd) PeerMTU(enum uint8) error {
	p.items.Add(1)
	p.mtu = verbs.MTU(128) << enum
	return nil
}

// PeerReport ignores the client's results.
func (p *perftestEnd) PeerReport(wire.Report) {}

// buffer returns the buffer of messages: all of the memory, or, if payload is checked and each
// message has its own slot, the region that answers are sent from.
func (p *perftestEnd) buffer() verbs.SGE {
	if p.check != nil {
		return p.check.payloadMR.SGE(0, p.check.recvLen)
	}
	return p.mr.SGE(0, p.mr.Len())
}

// Key answers a key with that of the queue pair connected to the client's; for a new key it creates
// and connects one. A client sends each key twice before the test; both count as progress. After
// that only packets count.
func (p *perftestEnd) Key(peer wire.Key) (wire.Key, error) {
	q := p.byPeer[peer.QPN]
	reads := min(int(peer.OutReads), p.dev.Attr().MaxQPRdAtom)
	if q == nil {
		var err error
		q, err = p.connect(&clientEnd{
			info: verbs.ConnInfo{QPN: verbs.QPN(peer.QPN), PSN: verbs.PSN(peer.PSN), GID: peer.GID},
			mtu:  p.mtu, reads: uint8(reads), buffer: p.buffer(), reply: replyState{mode: noMessage},
		})
		if err != nil {
			return wire.Key{}, err
		}
		p.byPeer[peer.QPN] = q
	}
	if p.keyCount[q] < 2 {
		p.keyCount[q]++
		p.items.Add(1)
	}
	return wire.Key{
		OutReads: uint16(reads), QPN: uint32(q.QPN()), PSN: uint32(q.psn), RKey: p.mr.RKey(), VAddr: p.mr.Addr(),
		GID: q.gid.GID,
	}, nil
}
