package cm

import "github.com/gorxe/gorxe/qp"

// halfOpen holds the half-open connections of all addresses or of one address. A connection is
// half-open while it waits for the program's answer or for the peer's RTU; a request for a service
// ID, while it waits for the program.
type halfOpen struct {
	count    int
	waiting  list // connections that the program has not answered; unused in Manager.half
	answered list // connections in REP_SENT, in the order of the program's answers
}

// beginHalfOpen counts a connection as half-open, and as waiting for the program at l.
func (m *Manager) beginHalfOpen(c *conn, l *listener) {
	c.halfOpen, c.backlogOf = true, l
	l.waiting++
	l.peers[c.peer.GID]++
	m.half.count++
	p := m.peers[c.peer.GID]
	if p == nil {
		p = &halfOpen{waiting: list{of: ofWaitingPeer}, answered: list{of: ofAnsweredPeer}}
		m.peers[c.peer.GID] = p
	}
	p.count++
	p.waiting.add(c)
}

// leaveBacklog removes a request from the backlog of its listener, if the request is still there.
func (m *Manager) leaveBacklog(c *conn) {
	if l := c.backlogOf; l != nil {
		m.peers[c.peer.GID].waiting.remove(c)
		l.waiting--
		countDown(l.peers, c.peer.GID)
		c.backlogOf = nil
	}
}

// waitForRTU moves a request that the program has accepted from the backlog to the connections in
// REP_SENT. From then on, another request may displace it.
func (m *Manager) waitForRTU(c *conn) {
	m.leaveBacklog(c)
	m.half.answered.add(c)
	m.peers[c.peer.GID].answered.add(c)
}

// endHalfOpen ends the half-open state of a connection.
func (m *Manager) endHalfOpen(c *conn) {
	m.leaveBacklog(c)
	if !c.halfOpen {
		return
	}
	c.halfOpen = false
	m.half.count--
	m.half.answered.remove(c)
	p := m.peers[c.peer.GID]
	p.answered.remove(c)
	if p.count--; p.count == 0 {
		delete(m.peers, c.peer.GID)
	}
}

// makeRoom checks the limits of half-open connections for one more connection of a peer. It returns
// VerdictTaken, or the verdict with which the new request is dropped. At a limit, it displaces the
// connection in REP_SENT that was answered first: a connection of the same peer; or, at the total
// limit, of any peer if this peer has less than its share. Requests that the program has not
// answered are never displaced: displacing them would not make the program answer more requests per
// second.
//
// Without displacement, 1,024 REQs that carry a victim's address would lock the victim out until
// their REPs are given up, up to 137 s. With it, the victim's connection ends only if N further
// requests of its address arrive between its REP and its RTU, in a round trip of R seconds. N is
// 1,024 minus the requests that wait for the program, at most 128 of one address at a listener
// with a backlog of 128. An attacker therefore needs more than 896/R packets per second while the
// victim tries to connect:
//
//	R         packets per second
//	0.1 ms    8,960,000
//	1 ms        896,000
//	10 ms        89,600
//	100 ms        8,960
//
// The oldest is displaced, not a random one as in some SYN queues. At a rate of p packets per
// second a random choice hits the victim with probability 1-exp(-pR/N): 10 % at a tenth of the rate
// above, where displacing the oldest never hits the victim. Above that rate a random choice is
// better: the victim keeps 37 % of its connections at that rate, 14 % at twice the rate.
func (m *Manager) makeRoom(now Time, from Peer) Verdict {
	p := m.peers[from.GID]
	if p == nil {
		p = &halfOpen{}
	}
	switch {
	case p.count >= m.cfg.MaxHalfOpenPeer:
		if !m.displace(now, p.answered.first) {
			return VerdictHalfOpenPeer
		}
	case m.half.count >= m.cfg.MaxHalfOpen:
		c := m.half.answered.first
		if p.count >= max(m.cfg.MaxHalfOpen/len(m.peers), 1) {
			c = p.answered.first
		}
		if !m.displace(now, c) {
			return VerdictHalfOpen
		}
	}
	return VerdictTaken
}

// displace ends a connection in REP_SENT as if its RTU had timed out: the program gets
// Unreachable, the peer one DREQ. It returns false if c is nil. If the peer missed the REP and
// repeats its REQ, the REQ is a new request.
func (m *Manager) displace(now Time, c *conn) bool {
	if c == nil {
		return false
	}
	m.counters.Displaced++
	m.forgetRequest(c)
	m.giveUp(now, c)
	return true
}

// HalfOpen returns the number of connections that wait for the program's answer or for an RTU.
func (m *Manager) HalfOpen() int { return m.half.count }

// countDown decrements a peer's count, and deletes it at 0.
func countDown(of map[qp.GID]int, peer qp.GID) {
	if of[peer]--; of[peer] == 0 {
		delete(of, peer)
	}
}
