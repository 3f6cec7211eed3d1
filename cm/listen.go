package cm

import (
	"fmt"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// ListenerID names a listener.
type ListenerID uint32

// AnyGID lets a listener take what arrives at every entry of the GID table.
const AnyGID = -1

// place is where a listener listens.
type place struct {
	service mad.ServiceID
	gid     int // entry of the GID table, or AnyGID
}

type listener struct {
	id      ListenerID
	at      place
	backlog int
	waiting int            // requests that the program has not answered
	peers   map[qp.GID]int // of them, by who sent them; none of 0
}

// Listen takes requests for a service: REQs if it is of the port space TCP, SIDR_REQs if it is
// of UDP, both otherwise. gid is the entry of the GID table to listen at, or [AnyGID]; a
// listener at an entry goes before one at any. As many requests as backlog, at least 1, may
// wait for the program, and as many again of peers that have less than their share of it: what
// backlog is by the number of peers that wait, at least 1. So no peer keeps others out. What is
// more is dropped, and its sender tries again.
func (m *Manager) Listen(service mad.ServiceID, gid, backlog int) (ListenerID, error) {
	at := place{service, max(gid, AnyGID)}
	if m.listeners[at] != nil {
		return 0, fmt.Errorf("cm: %v is in use by another listener", service)
	}
	m.nextListener++
	m.listeners[at] = &listener{id: m.nextListener, at: at, backlog: max(backlog, 1), peers: map[qp.GID]int{}}
	m.places[m.nextListener] = at
	return m.nextListener, nil
}

// StopListening ends a listener. Requests that wait for the program are the program's still.
func (m *Manager) StopListening(id ListenerID) {
	if at, open := m.places[id]; open {
		delete(m.places, id)
		delete(m.listeners, at)
	}
}

// listening finds who listens for a service at an entry of the GID table.
func (m *Manager) listening(service mad.ServiceID, gid uint8) *listener {
	if l := m.listeners[place{service, int(gid)}]; l != nil {
		return l
	}
	return m.listeners[place{service, AnyGID}]
}

// admit says whether there is room for one more request of a peer, and makes it: see makeRoom.
func (m *Manager) admit(now Time, l *listener, from Peer) Verdict {
	switch {
	case l.waiting >= 2*l.backlog:
		return VerdictBacklog
	case l.waiting >= l.backlog && l.peers[from.GID] >= l.share():
		return VerdictBacklogPeer
	}
	return m.makeRoom(now, from)
}

// share is how many requests of a peer that waits may wait where the backlog is full. One of which none waits may always ask.
func (l *listener) share() int { return max(l.backlog/len(l.peers), 1) }

// Len returns how many connections there are in each state.
func (m *Manager) Len() (n [numStates]int) {
	for _, c := range m.conns {
		n[c.state]++
	}
	return n
}
