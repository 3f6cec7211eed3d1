package cm

import (
	"iter"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
)

// ConnInfo describes a connection or a request for a service ID.
type ConnInfo struct {
	ID, RemoteID mad.CommID // RemoteID is 0 while it is not known
	State        State
	Since        Time // when it came to be
	Peer         Peer
	QPN, PeerQPN bth.QPN // 0 while they are not known
	Active       bool    // this side asked
	Service      mad.ServiceID
	SourcePort   uint16 // of the side that asked, 0 if it has no IP header
	RetriesLeft  uint8  // of what was sent last, where the peer has not answered
}

// All goes through what there is, in no order. The manager must not be used meanwhile.
func (m *Manager) All() iter.Seq[ConnInfo] {
	return func(yield func(ConnInfo) bool) {
		for _, c := range m.conns {
			i := ConnInfo{
				ID: c.local, RemoteID: c.remote, State: c.state, Since: c.since, Peer: c.peer,
				QPN: c.localQPN, PeerQPN: c.peerQPN,
			}
			i.Active, i.Service, i.SourcePort = c.active, c.service, c.source
			if c.state.waitsForPeer() {
				i.RetriesLeft = c.left
			}
			if !yield(i) {
				return
			}
		}
	}
}

// waitsForPeer is true where what was sent is sent again.
func (s State) waitsForPeer() bool {
	return s == StateREQSent || s == StateREPSent || s == StateDREQSent || s == StateSIDRREQSent
}
