package respond

import (
	"time"

	wire "github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// pingpongMTU is the path MTU of ibv_*_pingpong where -m says no other, which is not told. A packet
// of a message of several must be of that size; one of a message that fits in it is right with
// every -m.
const pingpongMTU = verbs.MTU(1024)

// moreTime is how long after its first address ibv_srq_pingpong has sent a part of the next.
const moreTime = 200 * time.Millisecond

// pingpong answers ibv_rc_pingpong or ibv_srq_pingpong.
func (s *session) pingpong() error {
	if err := s.open(); err != nil {
		return err
	}
	s.working.Go(s.watch)
	limit := time.Now().Add(s.r.limits.Quiet)
	s.conn.SetDeadline(limit)
	if err := wire.Answer(s.conn, s.in, moreTime, limit, s.connectAll); err != nil {
		return failure(badItem, err)
	}
	// Tools hang up here; queue pairs tell what becomes of them.
	s.parted.Store(true)
	s.items.Add(1)
	return s.traffic()
}

// connectAll connects a queue pair to each of a client's.
func (s *session) connectAll(remote []wire.Dest) (local []wire.Dest, err error) {
	each := s.mr.Len() / max(1, len(remote)) &^ 0xfff
	for i, d := range remote {
		q, err := s.connect(&peerOf{
			info: verbs.ConnInfo{QPN: verbs.QPN(d.QPN), PSN: verbs.PSN(d.PSN), GID: d.GID},
			mtu:  pingpongMTU, reads: 1, room: s.mr.SGE(i*each, each), turn: turn{how: echo},
		})
		if err != nil {
			return nil, err
		}
		local = append(local, wire.Dest{QPN: uint32(q.QPN()), PSN: uint32(q.psn), GID: q.gid.GID})
	}
	return local, nil
}
