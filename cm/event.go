package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"strconv"
)

// EventKind is the kind of an event of a connection.
type EventKind uint8

const (
	Requested     EventKind = iota // REQ: answer with Accept or Reject
	Replied                        // REP: answer with Established or Reject
	Established                    // passive side: RTU arrived
	Rejected                       // REJ: the connection has ended
	Unreachable                    // no answer, or displaced (see Config.MaxHalfOpen): the connection has ended
	Disconnected                   // DREQ or DREP, or no answer to the DREQ: the connection has ended
	SIDRRequested                  // SIDR_REQ: answer with Answer
	Resolved                       // SIDR_REP: the request has ended
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

// An Event reports what happened to a connection. Of the messages, only the one that belongs to
// Kind is set. The receiver of the event owns that message and its private data.
type Event struct {
	Kind     EventKind
	ID       mad.CommID // local communication ID
	Peer     Peer
	Listener ListenerID // of Requested and SIDRRequested

	REQ     *mad.REQ     // of Requested
	REP     *mad.REP     // of Replied
	REJ     *mad.REJ     // of Rejected, and of Disconnected by a peer that gave up
	DREQ    *mad.DREQ    // of Disconnected by the peer
	SIDRREQ *mad.SIDRREQ // of SIDRRequested
	SIDRREP *mad.SIDRREP // of Resolved
}

// Events returns the number of queued events. The queue has no limit: a caller that keeps calling
// Receive without taking events lets it grow.
func (m *Manager) Events() int { return len(m.events.items) - m.events.head }

// queueEvent queues an event of c and returns a pointer to it, through which the caller sets the
// message.
func (m *Manager) queueEvent(c *conn, kind EventKind) *Event {
	m.events.put(Event{Kind: kind, ID: c.local, Peer: c.peer})
	return &m.events.items[len(m.events.items)-1]
}
