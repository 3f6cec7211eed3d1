package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"strconv"
)

// EventKind is what happened to a connection.
type EventKind uint8

const (
	Requested     EventKind = iota // REQ: answer with Accept or Reject
	Replied                        // REP: answer with Established or Reject
	Established                    // passive: RTU came, or data
	Rejected                       // REJ: the end
	Unreachable                    // nobody answered, or it was displaced (see Config.MaxHalfOpen): the end
	Disconnected                   // DREQ or DREP, or nobody answered the DREQ: the end
	SIDRRequested                  // SIDR_REQ: answer with Answer
	Resolved                       // SIDR_REP: the end of a request
)

var eventNames = [...]string{
	"REQUESTED", "REPLIED", "ESTABLISHED", "REJECTED", "UNREACHABLE", "DISCONNECTED", "SIDR_REQUESTED", "RESOLVED",
}

// String returns the kind's name, such as "REQUESTED".
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "event " + strconv.Itoa(int(k))
}

// An Event tells the program what happened. Only the message that it is about is there; its
// private data is the event's own.
type Event struct {
	Kind     EventKind
	ID       mad.CommID
	Peer     Peer
	Listener ListenerID // of Requested and SIDRRequested

	REQ     *mad.REQ     // Requested
	REP     *mad.REP     // Replied
	REJ     *mad.REJ     // Rejected, and Disconnected by a peer that gave up
	DREQ    *mad.DREQ    // Disconnected by the peer
	SIDRREQ *mad.SIDRREQ // SIDRRequested
	SIDRREP *mad.SIDRREP // Resolved
}

// Events returns how many events wait to be taken. There is no bound to them here: who lets a
// peer talk on while they are not taken keeps them all.
func (m *Manager) Events() int { return len(m.events.items) - m.events.head }

func (m *Manager) tell(c *conn, kind EventKind) *Event {
	m.events.put(Event{Kind: kind, ID: c.local, Peer: c.peer})
	return &m.events.items[len(m.events.items)-1]
}
