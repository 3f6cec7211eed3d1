package respond

import (
	"errors"
	"time"
)

// watchTick is the interval in which progress is checked.
const watchTick = 250 * time.Millisecond

var errSilent = errors.New("nothing comes from the client any more")

// errNothing returns why no packet has arrived at connected queue pairs.
func (s *session) errNothing() error {
	if s.kind == Pingpong {
		return errors.New("nothing came over a reliable connection: only ibv_rc_pingpong and ibv_srq_pingpong are served; ibv_uc_pingpong and ibv_ud_pingpong cannot be told from them")
	}
	return errors.New("nothing came over a reliable connection: ib_write_lat, -c UC and -c UD are not served; ib_write_bw, ib_read_bw, ib_send_bw, ib_atomic_bw, ib_read_lat, ib_send_lat and ib_atomic_lat with -c RC are")
}

// watchProgress ends the session when it makes no progress.
func (s *session) watchProgress() {
	begun := time.Now()
	s.mu.Lock()
	s.lastProgress = begun
	s.mu.Unlock()
	tick := time.NewTicker(watchTick)
	defer tick.Stop()
	for seen := uint64(0); ; {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		items := s.items.Load()
		if s.checkTimeouts(time.Now(), begun, items != seen) {
			return
		}
		seen = items
	}
}

// checkTimeouts ends the session if a timeout has expired, and reports whether it did. item reports
// that the client has continued the exchange; that is progress, but does not extend the wait for
// the first packet beyond Quiet since begun.
func (s *session) checkTimeouts(now, begun time.Time, item bool) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	packets := s.sentPackets()
	if packets != s.packets || item {
		s.lastProgress = now
	}
	s.packets = packets
	quiet := now.Sub(s.lastProgress)
	limit := s.r.limits.Quiet
	if s.exchangeEnded.Load() {
		limit = s.r.limits.Over
	}
	none := packets == 0 && len(s.qps) > 0
	late := now.Sub(begun) >= s.r.limits.Quiet
	switch {
	case none && (late || now.Sub(s.lastConnect) >= s.r.limits.First && quiet >= s.r.limits.First):
		s.end(noPacket, s.errNothing())
	case packets == 0 && late:
		s.end(noProgress, errSilent)
	case quiet < limit:
		return false
	case s.exchangeEnded.Load() && packets > 0:
		s.cancel(nil) // normal end of a pingpong
	default:
		s.end(noProgress, errSilent)
	}
	return true
}

// sentPackets returns the number of packets that the queue pairs have sent. It shows whether
// packets arrive: a reliable connection acknowledges or answers them. Packets of other services are
// dropped. The caller holds s.mu.
func (s *session) sentPackets() (n uint64) {
	for _, q := range s.qps {
		n += q.Counters().SentPackets
	}
	return n
}

// idle reports whether the session is a pingpong that has probably ended: no packet arrived for
// minSilence.
func (s *session) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exchangeEnded.Load() && s.packets > 0 && time.Since(s.lastProgress) >= minSilence
}

// handshakeStalled reports whether the client has no queue pair yet and has sent no item for
// minHandshakeStall.
func (s *session) handshakeStalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.qps) == 0 && time.Since(s.lastProgress) >= minHandshakeStall
}
