package cm

import "fmt"

// ListenerID names a listener.
type ListenerID uint32

// AnyGID lets a listener take what arrives at every entry of the GID table.
const AnyGID = -1

// place is where a listener listens.
type place struct {
	service ServiceID
	gid     int // entry of the GID table, or AnyGID
}

type listener struct {
	id      ListenerID
	at      place
	backlog int
	waiting int // requests that the program has not answered
}

// Listen takes requests for a service: REQs if it is of the port space TCP, SIDR_REQs if it is
// of UDP, both otherwise. gid is the entry of the GID table to listen at, or [AnyGID]; a
// listener at an entry goes before one at any. As many requests as backlog, at least 1, may
// wait for the program; others are dropped, and their senders try again.
func (m *Manager) Listen(service ServiceID, gid, backlog int) (ListenerID, error) {
	at := place{service, max(gid, AnyGID)}
	if m.listeners[at] != nil {
		return 0, fmt.Errorf("cm: %v is in use by another listener", service)
	}
	m.nextListener++
	m.listeners[at] = &listener{id: m.nextListener, at: at, backlog: max(backlog, 1)}
	return m.nextListener, nil
}

// StopListening ends a listener. Requests that wait for the program are the program's still.
func (m *Manager) StopListening(id ListenerID) {
	for at, l := range m.listeners {
		if l.id == id {
			delete(m.listeners, at)
		}
	}
}

// listening finds who listens for a service at an entry of the GID table.
func (m *Manager) listening(service ServiceID, gid uint8) *listener {
	if l := m.listeners[place{service, int(gid)}]; l != nil {
		return l
	}
	return m.listeners[place{service, AnyGID}]
}

// admit says whether there is room for one more request of a peer.
func (m *Manager) admit(l *listener, from Peer) Verdict {
	switch {
	case l.waiting >= l.backlog:
		return VerdictBacklog
	case m.peers[from.GID] >= m.cfg.MaxHalfOpenPeer:
		return VerdictHalfOpenPeer
	case m.halfOpen >= m.cfg.MaxHalfOpen:
		return VerdictHalfOpen
	}
	return VerdictTaken
}

// open counts a connection as half-open, and as waiting for the program at l.
func (m *Manager) open(c *conn, l *listener) {
	c.half, c.waits = true, l
	l.waiting++
	m.halfOpen++
	m.peers[c.peer.GID]++
}

// answered takes a request from the backlog.
func (c *conn) answered() {
	if c.waits != nil {
		c.waits.waiting--
		c.waits = nil
	}
}

// settle ends being half-open.
func (m *Manager) settle(c *conn) {
	c.answered()
	if !c.half {
		return
	}
	c.half = false
	m.halfOpen--
	if m.peers[c.peer.GID]--; m.peers[c.peer.GID] == 0 {
		delete(m.peers, c.peer.GID)
	}
}

// HalfOpen returns how many connections wait for the program's answer or for an RTU.
func (m *Manager) HalfOpen() int { return m.halfOpen }

// Len returns how many connections there are in each state.
func (m *Manager) Len() (n [numStates]int) {
	for _, c := range m.conns {
		n[c.state]++
	}
	return n
}
