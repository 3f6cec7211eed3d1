package model

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/transport"
)

// share is a [transport.Share] with its members: it limits the PSNs that the reliable connections
// of a node towards another have outstanding together.
type share struct {
	*transport.Share
	limit int64
	turn  int
	ends  []*end
}

// shareWait is the longest time that an end with nothing outstanding waits for its share.
const shareWait = 100 * scenario.Millisecond

// joinShare makes e, whose machine is rc, a member of the share of its node, if that has one.
func (e *end) joinShare(rc *transport.RC) {
	n := &e.node.spec
	if n.Share == 0 {
		return
	}
	key := [2]int{e.node.index, e.conn.spec.Ends[1-e.side].Node}
	s := e.net.shares[key]
	if s == nil {
		s = &share{Share: transport.NewShare(n.Share, n.ShareTurn), limit: int64(n.Share),
			turn: min(n.ShareTurn, n.Share)}
		e.net.shares[key] = s
	}
	e.share = s
	s.ends = append(s.ends, e)
	rc.Join(s.Share)
}

// outstanding is how many PSNs the members have sent that are not acknowledged.
func (s *share) outstanding() (n int64) {
	for _, e := range s.ends {
		if e.alive() {
			n += e.requester.cursor - e.requester.una
		}
	}
	return n
}

// resume gives the members that wait for their share a turn, once turn PSNs are free.
func (s *share) resume() {
	if s == nil || s.Left() < s.turn {
		return
	}
	for _, e := range s.ends {
		if e.m.(*transport.RC).Blocked() && !e.turn {
			e.ready()
		}
	}
}

// shares checks that the n PSNs that were just sent fit the share. Beyond the share, a connection
// may send one packet if it has nothing else outstanding and has waited for shareWait. It may send
// a READ request of any length also if the other members have nothing outstanding.
func (e *end) shares(n int64, read bool) {
	r := &e.requester
	sent := r.sentAt
	r.sentAt = e.net.Now
	if e.share == nil || e.share.outstanding() <= e.share.limit {
		return
	}
	alone := r.cursor-r.una == n && (read || n == 1)
	long := e.net.Now-sent >= shareWait
	if alone && long || read && e.share.outstanding() == n {
		return
	}
	e.fail("%d PSNs are outstanding towards the node, the share is %d", e.share.outstanding(), e.share.limit)
}

// waitsForShare reports whether the machine waits for its share with nothing outstanding.
func (e *end) waitsForShare() bool {
	m, ok := e.m.(*transport.RC)
	return ok && m.Blocked() && e.requester.cursor == e.requester.una
}

// blockedUntil returns the timeout of a machine that waits for its share with nothing outstanding,
// and checks that it is within shareWait.
func (e *end) blockedUntil() scenario.Time {
	at, _ := e.m.NextTimeout()
	if at > e.net.Now+shareWait {
		e.fail("a queue pair that waits for its share wants its timeout at %d only", at)
	}
	return at
}

// endsTurn checks that the last request of a turn that ended at its limit asks for an
// acknowledgement if the share has other members: until the acknowledgement arrives, they cannot
// use the PSNs of the turn.
func (e *end) endsTurn(limit int) {
	if e.share == nil || len(e.share.ends) < 2 || e.net.batch.Len() < limit {
		return
	}
	var p bth.Packet
	raw := append(e.net.batch.At(limit-1).AppendTo(nil), 0, 0, 0, 0)
	if p.Decode(raw) != nil || p.Opcode.Info().Response() || p.AckReq {
		return
	}
	e.fail("%s is the last of a turn and does not ask for an acknowledgement", p.Opcode.Info().Name)
}
