package cm

import (
	"fmt"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// ListenerID identifies a listener.
type ListenerID uint32

// AnyGID makes a listener receive requests that arrive at any entry of the GID table.
const AnyGID = -1

// listenAddr is the address of a listener.
type listenAddr struct {
	service mad.ServiceID
	gid     int // entry of the GID table, or AnyGID
}

// listener is an open listener and its backlog.
type listener struct {
	id      ListenerID
	addr    listenAddr
	backlog int
	waiting int            // requests that the program has not answered
	peers   map[qp.GID]int // number of waiting requests per peer, without zero entries
}

// Listen receives requests for a service: REQs in the port space TCP, SIDR_REQs in the port space
// UDP, otherwise both. gid is the entry of the GID table to listen at, or [AnyGID]; a listener at
// an entry takes precedence over a listener at AnyGID. Up to backlog requests (at least 1) may wait
// for the program. The same number of further requests may wait if their peers have less than their
// share: the backlog divided by the number of peers with waiting requests, at least 1. One peer
// therefore cannot exclude others. All other requests are dropped; their senders retry.
func (m *Manager) Listen(service mad.ServiceID, gid, backlog int) (ListenerID, error) {
	addr := listenAddr{service, max(gid, AnyGID)}
	if m.listeners[addr] != nil {
		return 0, fmt.Errorf("cm: %v is in use by another listener", service)
	}
	m.nextListener++
	m.listeners[addr] = &listener{id: m.nextListener, addr: addr, backlog: max(backlog, 1), peers: map[qp.GID]int{}}
	m.listenAddrs[m.nextListener] = addr
	return m.nextListener, nil
}

// StopListening closes a listener. Requests that wait for the program remain.
func (m *Manager) StopListening(id ListenerID) {
	if addr, open := m.listenAddrs[id]; open {
		delete(m.listenAddrs, id)
		delete(m.listeners, addr)
	}
}

// listening returns the listener for a service at an entry of the GID table, nil if there is
// none.
func (m *Manager) listening(service mad.ServiceID, gid uint8) *listener {
	if l := m.listeners[listenAddr{service, int(gid)}]; l != nil {
		return l
	}
	return m.listeners[listenAddr{service, AnyGID}]
}

// admit checks the backlog of l and the limits of half-open connections for one more request of a
// peer. It returns VerdictTaken, or the verdict with which the request is dropped. At a limit, it
// may displace another connection: see makeRoom.
func (m *Manager) admit(now Time, l *listener, from Peer) Verdict {
	switch {
	case l.waiting >= 2*l.backlog:
		return VerdictBacklog
	case l.waiting >= l.backlog && l.peers[from.GID] >= l.share():
		return VerdictBacklogPeer
	}
	return m.makeRoom(now, from)
}

// share returns the number of requests that one peer may have waiting when the backlog is full. It
// is at least 1, for peers without a waiting request.
func (l *listener) share() int { return max(l.backlog/len(l.peers), 1) }

// Len returns the number of connections in each state, indexed by State.
func (m *Manager) Len() (n [numStates]int) {
	for _, c := range m.conns {
		n[c.state]++
	}
	return n
}
