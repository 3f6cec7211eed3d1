package respond

import (
	"time"

	wire "github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// pingpongMTU is the default path MTU of ibv_*_pingpong; the tools do not announce the value of -m.
// The packets of a message of several packets must have that size; a message of one packet is valid
// with every -m.
const pingpongMTU = verbs.MTU(1024)

// moreTime is the time in which ibv_srq_pingpong must send its second address after the first;
// ibv_rc_pingpong sends only one.
const moreTime = 200 * time.Millisecond

// pingpong answers ibv_rc_pingpong or ibv_srq_pingpong.
func (s *session) pingpong() error {
	if err := s.open(); err != nil {
		return err
	}
	s.working.Go(s.watchProgress)
	limit := time.Now().Add(s.r.limits.Quiet)
	s.conn.SetDeadline(limit)
	if err := wire.Answer(s.conn, s.in, moreTime, limit, s.connectAll); err != nil {
		return failure(badItem, err)
	}
	// The tools close the TCP connection here; the queue pairs show when they end.
	s.exchangeEnded.Store(true)
	s.items.Add(1)
	return s.traffic()
}

// connectAll connects one queue pair per queue pair of the client.
func (s *session) connectAll(remote []wire.Dest) (local []wire.Dest, err error) {
	each := s.mr.Len() / max(1, len(remote)) &^ 0xfff
	for i, d := range remote {
		q, err := s.connect(&clientEnd{
			info: verbs.ConnInfo{QPN: verbs.QPN(d.QPN), PSN: verbs.PSN(d.PSN), GID: d.GID},
			mtu:  pingpongMTU, reads: 1, buffer: s.mr.SGE(i*each, each), reply: replyState{mode: replyEach},
		})
		if err != nil {
			return nil, err
		}
		local = append(local, wire.Dest{QPN: uint32(q.QPN()), PSN: uint32(q.psn), GID: q.gid.GID})
	}
	return local, nil
}
