package cm

import "github.com/gorxe/gorxe/qp"

// halfOpen are the connections, of all or of one address, that wait for the program's answer or for
// the peer's RTU, and the requests for a service ID that wait for the program.
type halfOpen struct {
	n        int
	waiting  list // of one address: those of n that the program has not answered
	answered list // those of n in REP_SENT, the one answered first in front
}

// open counts a connection as half-open, and as waiting for the program at l.
func (m *Manager) open(c *conn, l *listener) {
	c.half, c.waits = true, l
	l.waiting++
	l.peers[c.peer.GID]++
	m.half.n++
	p := m.peers[c.peer.GID]
	if p == nil {
		p = &halfOpen{waiting: list{of: ofWaitingPeer}, answered: list{of: ofAnsweredPeer}}
		m.peers[c.peer.GID] = p
	}
	p.n++
	p.waiting.add(c)
}

// answered takes a request from the backlog.
func (m *Manager) answered(c *conn) {
	if l := c.waits; l != nil {
		m.peers[c.peer.GID].waiting.remove(c)
		l.waiting--
		countDown(l.peers, c.peer.GID)
		c.waits = nil
	}
}

// waitForRTU takes a request that the program has accepted from the backlog. From here on another
// one may displace it.
func (m *Manager) waitForRTU(c *conn) {
	m.answered(c)
	m.half.answered.add(c)
	m.peers[c.peer.GID].answered.add(c)
}

// settle ends being half-open.
func (m *Manager) settle(c *conn) {
	m.answered(c)
	if !c.half {
		return
	}
	c.half = false
	m.half.n--
	m.half.answered.remove(c)
	p := m.peers[c.peer.GID]
	p.answered.remove(c)
	if p.n--; p.n == 0 {
		delete(m.peers, c.peer.GID)
	}
}

// makeRoom checks the bounds of half-open connections for one more of a peer. At a bound it displaces
// the connection in REP_SENT that was answered first: the peer's own, or, at the bound of all, any
// peer's if this one has less than its share. Requests that the program has not answered are never
// displaced: the program answers a number of them in a second, whichever are dropped.
//
// Without displacement, 1,024 REQs that bear a victim's address would keep the victim out until their
// REPs are given up, up to 137 s. With it, the victim's connection ends only if N further requests of
// its address come between its REP and its RTU, in a round trip of R seconds. N is 1,024 less the
// requests that wait for the program, at most 128 of one address at a listener with a backlog of 128.
// So an attacker needs more than 896/R packets a second for as long as the victim tries:
//
//	R         packets a second
//	0.1 ms    8,960,000
//	1 ms        896,000
//	10 ms        89,600
//	100 ms        8,960
//
// The oldest is displaced and not a random one, as some SYN queues do. At a rate of p packets a
// second a random choice hits the victim with probability 1-exp(-pR/N): 10 % at a tenth of the rate
// above, at which the oldest is never the victim's. Above that rate random choice is better: 37 %
// remain at the rate itself, 14 % at twice the rate.
func (m *Manager) makeRoom(now Time, from Peer) Verdict {
	p := m.peers[from.GID]
	if p == nil {
		p = &halfOpen{}
	}
	switch {
	case p.n >= m.cfg.MaxHalfOpenPeer:
		if !m.displace(now, p.answered.first) {
			return VerdictHalfOpenPeer
		}
	case m.half.n >= m.cfg.MaxHalfOpen:
		c := m.half.answered.first
		if p.n >= max(m.cfg.MaxHalfOpen/len(m.peers), 1) {
			c = p.answered.first
		}
		if !m.displace(now, c) {
			return VerdictHalfOpen
		}
	}
	return VerdictTaken
}

// displace ends a connection in REP_SENT like one whose RTU has not come in time: the program gets
// Unreachable, the peer one DREQ. It returns false if c is nil. If the peer has missed the REP and
// repeats its REQ, that is taken as a new request.
func (m *Manager) displace(now Time, c *conn) bool {
	if c == nil {
		return false
	}
	m.counters.Displaced++
	m.forgetRequest(c)
	m.giveUp(now, c)
	return true
}

// HalfOpen returns how many connections wait for the program's answer or for an RTU.
func (m *Manager) HalfOpen() int { return m.half.n }

// countDown takes one from a peer's count, and forgets a peer that has none.
func countDown(of map[qp.GID]int, peer qp.GID) {
	if of[peer]--; of[peer] == 0 {
		delete(of, peer)
	}
}
