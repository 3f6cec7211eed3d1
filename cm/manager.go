package cm

import (
	"container/heap"
	"fmt"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// Time is a time in nanoseconds of the caller's monotonic clock.
type Time int64

// Peer is the remote port that a MAD comes from or goes to, and the local port.
type Peer struct {
	SGIDIndex uint8  // index of the local port's entry in the GID table
	GID       qp.GID // GID of the remote port
}

// Config configures a [Manager]. Zero limits mean the defaults.
type Config struct {
	// CAGUID identifies this manager globally. It must be unique: a peer rejects a REQ as stale if
	// the peer already has a connection with the same GUID and queue pair number.
	CAGUID mad.GUID
	// Secret is the key of the communication IDs, which must be unpredictable: 32 bytes of
	// crypto/rand. Two managers with the same secret use the same IDs.
	Secret [32]byte
	// MaxHalfOpen and MaxHalfOpenPeer limit the number of half-open requests, which wait for the
	// program's answer or for the peer's RTU, in total and per peer address. At a limit, a new
	// request displaces the request that has waited longest for its RTU; that request ends with the
	// event Unreachable. It is a request of the same address; or, at the total limit, a request of
	// any address if the new request's address has less than its share, the limit divided by the
	// number of addresses. If no request waits for its RTU, the new request is dropped; the peer
	// retransmits its REQ. Defaults: 4,096 and 1,024.
	MaxHalfOpen, MaxHalfOpenPeer int
	// MaxTimewait and MaxTimewaitPeer limit the number of ended connections and answered requests
	// for a service ID that are kept, in total and per address; defaults: 65,536 and 16,384. At the
	// total limit the oldest are removed. Further entries of an address at its limit are removed at
	// once: a repeated DREQ is then answered as one of an unknown connection, and a repeated
	// SIDR_REQ is a new request to the program.
	MaxTimewait, MaxTimewaitPeer int
	// Allow reports whether a peer may send requests; nil allows all. A REQ or SIDR_REQ of a peer
	// that is not allowed is rejected as if by the program; other messages of that peer are
	// dropped.
	Allow func(qp.GID) bool
	// Local returns the GID at an index of the GID table and the path MTU of its link; ok is false
	// if there is no such entry. The manager uses it to reject REQs that fail [mad.REQ.Check],
	// without keeping state. If it is nil, the program checks REQs. It must not call the manager.
	Local func(sgidIndex uint8) (gid qp.GID, mtu qp.MTU, ok bool)
	// RequestTimeout limits two waits, in nanoseconds: the wait of a request for the program's
	// answer, from the peer's last message on, and the wait of this side for a peer that has sent
	// an MRA. Default 90 s.
	RequestTimeout int64
}

func (c *Config) defaults() {
	for _, v := range []struct {
		field *int
		value int
	}{{&c.MaxHalfOpen, 4096}, {&c.MaxHalfOpenPeer, 1024}, {&c.MaxTimewait, 65536}, {&c.MaxTimewaitPeer, 16384}} {
		if *v.field <= 0 {
			*v.field = v.value
		}
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = 90e9
	}
}

// Manager is the connection manager of one device. It holds every connection and every request
// for a service ID. Its calls must not overlap, and the caller supplies the time.
//
// After each call there may be MADs to send and events for the program: the caller takes them
// with [Manager.NextSend] and [Manager.NextEvent] until there are none, and calls
// [Manager.Timeout] at the time that [Manager.NextTimeout] returns.
//
// A connection is identified by its local communication ID. It ends with exactly one event of kind
// Rejected, Unreachable or Disconnected, unless the program ended it by Reject or Cancel. The
// program may then reset or destroy its queue pair, but must not use the queue pair's number for
// another connection for a few seconds, while the peer may remember it.
type Manager struct {
	cfg          Config
	ids          idSequence
	listeners    map[listenAddr]*listener
	listenAddrs  map[ListenerID]listenAddr // address of each listener
	nextListener ListenerID
	conns        map[mad.CommID]*conn
	requests     map[requestID]*conn // requests whose sender is not proven yet: see requestID
	byID         map[remoteID]*conn  // all other connections whose remote ID is known
	byQPN        map[remoteQPN]*conn // connections in byID that have not ended
	timers       timers
	half         halfOpen             // of all addresses
	peers        map[qp.GID]*halfOpen // per address, without empty entries
	timewait     timewait
	in, out      mad.Message // scratch: message being decoded, message being encoded
	sends        queue[Outgoing]
	events       queue[Event]
	counters     Counters
}

// Outgoing is a MAD to send to queue pair 1 of a peer.
type Outgoing struct {
	Peer Peer
	MAD  [mad.Len]byte
}

// New creates a manager without listeners and connections.
func New(cfg Config) *Manager {
	cfg.defaults()
	return &Manager{
		cfg: cfg, ids: newIDs(cfg.Secret),
		listeners: map[listenAddr]*listener{}, listenAddrs: map[ListenerID]listenAddr{},
		conns:    map[mad.CommID]*conn{},
		requests: map[requestID]*conn{}, byID: map[remoteID]*conn{}, byQPN: map[remoteQPN]*conn{},
		peers: map[qp.GID]*halfOpen{},
		half:  halfOpen{answered: list{of: ofAnswered}}, timewait: timewait{peers: map[qp.GID]int{}},
	}
}

// Receive processes the MAD b, which arrived at queue pair 1. It does not retain b.
func (m *Manager) Receive(now Time, from Peer, b []byte) Verdict {
	if err := m.in.Decode(b); err != nil {
		m.counters.Malformed[mad.ReasonOf(err)]++
		return m.counters.verdict(VerdictMalformed)
	}
	m.counters.Received[m.in.Attribute.Index()]++
	v := m.receive(now, from, &m.in, b)
	if v == VerdictDuplicate {
		m.counters.Duplicates[m.in.Attribute.Index()]++
	}
	return m.counters.verdict(v)
}

func (m *Manager) receive(now Time, from Peer, msg *mad.Message, raw []byte) Verdict {
	if m.cfg.Allow != nil && !m.cfg.Allow(from.GID) {
		return m.rejectNotAllowed(from, msg)
	}
	switch msg.Attribute {
	case mad.AttrREQ:
		return m.request(now, from, msg, raw)
	case mad.AttrSIDRREQ:
		return m.sidrRequest(now, from, msg, raw)
	case mad.AttrLAP, mad.AttrAPR:
		return VerdictUnsupported
	}
	local, remote := msg.CommIDs()
	c := m.conns[local]
	if msg.Attribute == mad.AttrREJ {
		c = m.rejectedConn(from, msg)
	}
	switch {
	case c == nil:
		return m.answerUnknown(from, msg)
	case c.peer != from:
		// The answer is the one for an unknown ID: silence would reveal which IDs are in use.
		m.answerUnknown(from, msg)
		return VerdictWrongPeer
	case c.remoteKnown && c.remote != remote && msg.Attribute != mad.AttrSIDRREP:
		return m.answerUnknown(from, msg)
	case !c.remoteKnown && msg.AnswersRequest() && msg.TransactionID != c.tid:
		return m.answerUnknown(from, msg)
	}
	return m.react(now, c, msg)
}

// answerUnknown answers a message that belongs to no connection, so that its sender stops repeating
// it: a DREQ with DREP, as Linux does, a REP with REJ. It keeps no state.
func (m *Manager) answerUnknown(from Peer, msg *mad.Message) Verdict {
	switch msg.Attribute {
	case mad.AttrDREQ:
		m.out.Attribute, m.out.TransactionID = mad.AttrDREP, msg.TransactionID
		m.out.DREP = mad.DREP{LocalCommID: msg.DREQ.RemoteCommID, RemoteCommID: msg.DREQ.LocalCommID}
		_, _ = m.send(from, &m.out)
	case mad.AttrREP:
		m.reject(from, msg.TransactionID, &mad.REJ{
			LocalCommID: msg.REP.RemoteCommID, RemoteCommID: msg.REP.LocalCommID,
			MessageRejected: mad.MessageREP, Reason: mad.RejectInvalidCommID,
		})
	}
	return VerdictUnknownConnection
}

// rejectNotAllowed handles a message of a peer that Config.Allow does not allow: it rejects
// requests and drops other messages.
func (m *Manager) rejectNotAllowed(from Peer, msg *mad.Message) Verdict {
	switch msg.Attribute {
	case mad.AttrREQ:
		m.reject(from, msg.TransactionID,
			&mad.REJ{RemoteCommID: msg.REQ.LocalCommID, Reason: mad.RejectConsumerDefined})
	case mad.AttrSIDRREQ:
		m.refuseSIDR(from, msg, mad.SIDRReject)
	}
	return VerdictNotAllowed
}

// NextTimeout returns when Timeout is due; ok is false if no timer is set.
func (m *Manager) NextTimeout() (t Time, ok bool) {
	if len(m.timers) == 0 {
		return 0, false
	}
	return m.timers[0].deadline, true
}

// Timeout handles the timers that have expired: it retransmits unanswered messages, gives up
// after the last retransmission, and removes connections whose TIMEWAIT has ended.
func (m *Manager) Timeout(now Time) {
	for len(m.timers) > 0 && m.timers[0].deadline <= now {
		m.expire(now, m.timers[0])
	}
}

// NextSend moves the oldest MAD to be sent from the queue to o, and returns false if there is none.
func (m *Manager) NextSend(o *Outgoing) bool { return m.sends.take(o) }

// NextEvent moves the oldest event from the queue to e, and returns false if there is none.
func (m *Manager) NextEvent(e *Event) bool { return m.events.take(e) }

// Counters returns the counters of the manager, which continue to change.
func (m *Manager) Counters() *Counters { return &m.counters }

// send encodes and queues a message, and returns its bytes. It fails if a value does not fit its
// field: values of the program may not fit, values of the manager always do.
func (m *Manager) send(to Peer, msg *mad.Message) (sent [mad.Len]byte, err error) {
	o := Outgoing{Peer: to}
	if err := msg.Encode(&o.MAD); err != nil {
		return sent, err
	}
	m.sends.put(o)
	m.counters.Sent[msg.Attribute.Index()]++
	return o.MAD, nil
}

// lookup returns the connection with this ID if it is in one of the states. If not, the error
// contains call, the name of the method that was called.
func (m *Manager) lookup(id mad.CommID, call string, states ...State) (*conn, error) {
	c := m.conns[id]
	if c == nil {
		return nil, fmt.Errorf("cm: %s of connection %#x: there is none, it has ended", call, uint32(id))
	}
	for _, s := range states {
		if c.state == s {
			return c, nil
		}
	}
	return nil, fmt.Errorf("cm: %s of connection %#x: it is in state %v", call, uint32(id), c.state)
}

// newID returns an unused communication ID.
func (m *Manager) newID() mad.CommID {
	for {
		if id := m.ids.next(); id != 0 && m.conns[id] == nil {
			return id
		}
	}
}

// add adds a connection, in state s.
func (m *Manager) add(now Time, c *conn, s State) {
	c.state, c.since, c.heapIndex = s, now, -1
	c.active = s == StateREQSent || s == StateSIDRREQSent
	m.conns[c.local] = c
}

// remove removes a connection from all tables.
func (m *Manager) remove(c *conn) {
	m.stop(c)
	m.endHalfOpen(c)
	m.timewait.remove(c)
	delete(m.conns, c.local)
	m.forgetRemote(c)
}

// forgetRemote removes the connection from the tables that are indexed by the peer's numbers.
func (m *Manager) forgetRemote(c *conn) {
	m.forgetRequest(c)
	if k := c.remoteID(); m.byID[k] == c {
		delete(m.byID, k)
	}
	m.forgetQPN(c)
}

// forgetRequest removes the connection from the table of requests.
func (m *Manager) forgetRequest(c *conn) {
	if k := c.requestID(); m.requests[k] == c {
		delete(m.requests, k)
	}
}

// forgetQPN removes the connection from the table of the peers' queue pairs.
func (m *Manager) forgetQPN(c *conn) {
	if k := c.remoteQPN(); m.byQPN[k] == c {
		delete(m.byQPN, k)
	}
}

// setTimer sets the connection's timer to t.
func (m *Manager) setTimer(c *conn, t Time) {
	c.deadline = t
	if c.heapIndex < 0 {
		heap.Push(&m.timers, c)
	} else {
		heap.Fix(&m.timers, c.heapIndex)
	}
}

// stop stops the connection's timer if it runs.
func (m *Manager) stop(c *conn) {
	if c.heapIndex >= 0 {
		heap.Remove(&m.timers, c.heapIndex)
	}
}
