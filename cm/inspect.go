package cm

import (
	"iter"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
)

// ConnInfo describes a connection or a request for a service ID.
type ConnInfo struct {
	ID, RemoteID mad.CommID // RemoteID is 0 until it is known
	State        State
	Since        Time // time of creation
	Peer         Peer
	QPN, PeerQPN bth.QPN // 0 until they are known
	Active       bool    // this side sent the request
	Service      mad.ServiceID
	SourcePort   uint16 // in the mad.IPHeader of the request, 0 if it has none
	RetriesLeft  uint8  // remaining retransmissions of an unanswered message, else 0
}

// All iterates over the connections and requests, in no order. The manager must not be used
// during the iteration.
func (m *Manager) All() iter.Seq[ConnInfo] {
	return func(yield func(ConnInfo) bool) {
		for _, c := range m.conns {
			i := ConnInfo{
				ID: c.local, RemoteID: c.remote, State: c.state, Since: c.since, Peer: c.peer,
				QPN: c.localQPN, PeerQPN: c.peerQPN,
			}
			i.Active, i.Service, i.SourcePort = c.active, c.service, c.source
			if c.state.waitsForPeer() {
				i.RetriesLeft = c.retriesLeft
			}
			if !yield(i) {
				return
			}
		}
	}
}

// waitsForPeer reports whether a connection in state s retransmits its last message.
func (s State) waitsForPeer() bool {
	return s == StateREQSent || s == StateREPSent || s == StateDREQSent || s == StateSIDRREQSent
}
