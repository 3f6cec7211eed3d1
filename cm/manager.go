package cm

import (
	"container/heap"
	"fmt"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// Time is nanoseconds of a monotonic clock that the caller keeps.
type Time int64

// Peer is the port at the other end of a MAD's way, and the local one.
type Peer struct {
	SGIDIndex uint8 // entry of the GID table from which MADs leave and at which they arrive
	GID       qp.GID
}

// Config is what a [Manager] is made with. Zero limits mean the defaults.
type Config struct {
	// CAGUID tells this instance from all others in the world: peers take another
	// connection of the same GUID and queue pair number for the old one.
	CAGUID mad.GUID
	// Secret is the key of the communication IDs, which must not be guessed: 32 bytes of
	// crypto/rand. Two managers with the same secret use the same IDs.
	Secret [32]byte
	// MaxHalfOpen and MaxHalfOpenPeer bound how many requests wait for the program's answer or
	// for the peer's RTU, in all and of one address. At a bound a new request displaces the one
	// that has waited longest for its RTU, which ends with the event Unreachable: one of the same
	// address, or, at the bound of all, of any if the address has less than its share, which is
	// the bound by the number of addresses. If there is none the new request is dropped: a peer
	// sends its REQ again. Defaults 4,096 and 1,024.
	MaxHalfOpen, MaxHalfOpenPeer int
	// MaxTimewait and MaxTimewaitPeer bound how many ended connections and answered requests for
	// a service ID are remembered, in all and of one address; defaults 65,536 and 16,384. Of all,
	// the oldest are forgotten for others. What ends beyond an address's own is forgotten at once:
	// a DREQ that is repeated then is answered as a stranger's, and a SIDR_REQ asked of the program
	// again.
	MaxTimewait, MaxTimewaitPeer int
	// Allow says which peers may ask for anything, nil means all. A REQ of another one is
	// refused as a program would, its SIDR_REQ likewise; all else is dropped.
	Allow func(qp.GID) bool
	// Local returns an entry of the GID table and the path MTU that its link carries; ok is false if
	// there is none. With it the manager refuses a REQ that [REQ.Check] refuses, and keeps nothing of
	// it. nil leaves the check to the program. It must not call the manager.
	Local func(sgidIndex uint8) (gid qp.GID, mtu qp.MTU, ok bool)
	// Patience is how long in nanoseconds a request may wait for the program's answer after
	// the peer was last heard of, and how long at most an MRA makes this side wait; default
	// 90 s.
	Patience int64
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
	if c.Patience <= 0 {
		c.Patience = 90e9
	}
}

// Manager is the connection manager of one device: every connection and every request for a
// service ID, as values in its tables. It is for one caller at a time, who tells it the time.
//
// After each call there may be MADs to send and events to tell the program of: the caller
// takes them with [Manager.NextSend] and [Manager.NextEvent] until there are none, and calls
// [Manager.Timeout] when the time of [Manager.NextTimeout] has come.
//
// A connection is named by its local communication ID. It ends with exactly one event of kind
// Rejected, Unreachable or Disconnected, unless the program ended it itself by Reject or
// Cancel. Its queue pair then is the program's again; its number must rest as long as the
// other end may remember it, which is a few seconds.
type Manager struct {
	cfg          Config
	ids          idSequence
	listeners    map[place]*listener
	places       map[ListenerID]place // of listeners
	nextListener ListenerID
	conns        map[mad.CommID]*conn
	requests     map[requestID]*conn // those that a peer made, until it is proven: see requestID
	byID         map[remoteID]*conn  // all others whose remote ID is known
	byQPN        map[remoteQPN]*conn // of these, those that are not over
	timers       timers
	half         halfOpen
	peers        map[qp.GID]*halfOpen // those of each address, none without
	rest         timewait
	in, out      mad.Message // scratch
	sends        queue[Outgoing]
	events       queue[Event]
	counters     Counters
}

// Outgoing is a MAD to send to queue pair 1 of a peer.
type Outgoing struct {
	Peer Peer
	MAD  [mad.Len]byte
}

// New makes a manager without listeners and connections.
func New(cfg Config) *Manager {
	cfg.defaults()
	return &Manager{
		cfg: cfg, ids: newIDs(cfg.Secret), listeners: map[place]*listener{}, places: map[ListenerID]place{},
		conns:    map[mad.CommID]*conn{},
		requests: map[requestID]*conn{}, byID: map[remoteID]*conn{}, byQPN: map[remoteQPN]*conn{},
		peers: map[qp.GID]*halfOpen{},
		half:  halfOpen{answered: list{of: ofAnswered}}, rest: timewait{peers: map[qp.GID]int{}},
	}
}

// Receive takes a MAD that came to queue pair 1. b is borrowed for the call.
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
		return m.turnAway(from, msg)
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
		c = m.rejected(from, msg)
	}
	switch {
	case c == nil:
		return m.stranger(from, msg)
	case c.peer != from:
		// The answer is that to an unknown ID: silence would tell anybody which IDs are in use.
		m.stranger(from, msg)
		return VerdictWrongPeer
	case c.remoteKnown && c.remote != remote && msg.Attribute != mad.AttrSIDRREP:
		return m.stranger(from, msg)
	case !c.remoteKnown && msg.AnswersRequest() && msg.TransactionID != c.tid:
		return m.stranger(from, msg)
	}
	return m.react(now, c, msg)
}

// stranger answers what belongs to no connection so that its sender need not repeat it: a
// DREQ by DREP, as Linux does, a REP by REJ. Nothing is kept of it.
func (m *Manager) stranger(from Peer, msg *mad.Message) Verdict {
	switch msg.Attribute {
	case mad.AttrDREQ:
		m.out.Attribute, m.out.TransactionID = mad.AttrDREP, msg.TransactionID
		m.out.DREP = mad.DREP{LocalCommID: msg.DREQ.RemoteCommID, RemoteCommID: msg.DREQ.LocalCommID}
		_, _ = m.send(from, &m.out)
	case mad.AttrREP:
		m.reject(from, msg.TransactionID, &mad.REJ{
			LocalCommID: msg.REP.RemoteCommID, RemoteCommID: msg.REP.LocalCommID,
			MessageRejected: mad.AnsweredREP, Reason: mad.RejectInvalidCommID,
		})
	}
	return VerdictUnknownConnection
}

// turnAway answers a peer that may not ask.
func (m *Manager) turnAway(from Peer, msg *mad.Message) Verdict {
	switch msg.Attribute {
	case mad.AttrREQ:
		m.reject(from, msg.TransactionID, &mad.REJ{RemoteCommID: msg.REQ.LocalCommID, Reason: mad.RejectConsumerDefined})
	case mad.AttrSIDRREQ:
		m.refuseSIDR(from, msg, mad.SIDRReject)
	}
	return VerdictNotAllowed
}

// NextTimeout returns when Timeout is due; ok is false when nothing waits.
func (m *Manager) NextTimeout() (t Time, ok bool) {
	if len(m.timers) == 0 {
		return 0, false
	}
	return m.timers[0].deadline, true
}

// Timeout does what is due: it sends again what was not answered, gives up what was sent
// often enough, and forgets connections that have rested.
func (m *Manager) Timeout(now Time) {
	for len(m.timers) > 0 && m.timers[0].deadline <= now {
		m.expire(now, m.timers[0])
	}
}

// NextSend takes the next MAD to send, oldest first.
func (m *Manager) NextSend(o *Outgoing) bool { return m.sends.take(o) }

// NextEvent takes the next event, oldest first.
func (m *Manager) NextEvent(e *Event) bool { return m.events.take(e) }

// Counters returns what has been counted. They go on counting.
func (m *Manager) Counters() *Counters { return &m.counters }

// send encodes and queues a message, and returns its bytes. What the manager itself puts
// together fits; what a program put in was checked where it came in.
func (m *Manager) send(to Peer, msg *mad.Message) (sent [mad.Len]byte, err error) {
	o := Outgoing{Peer: to}
	if err := msg.Encode(&o.MAD); err != nil {
		return sent, err
	}
	m.sends.put(o)
	m.counters.Sent[msg.Attribute.Index()]++
	return o.MAD, nil
}

// lookup finds the program's connection in one of the states that a call is for.
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

// newID returns a communication ID that is not in use.
func (m *Manager) newID() mad.CommID {
	for {
		if id := m.ids.next(); id != 0 && m.conns[id] == nil {
			return id
		}
	}
}

// add enters a connection in state s.
func (m *Manager) add(now Time, c *conn, s State) {
	c.state, c.since, c.at = s, now, -1
	c.active = s == StateREQSent || s == StateSIDRREQSent
	m.conns[c.local] = c
}

// remove forgets a connection.
func (m *Manager) remove(c *conn) {
	m.stop(c)
	m.settle(c)
	m.rest.remove(c)
	delete(m.conns, c.local)
	m.forgetRemote(c)
}

// forgetRemote takes the connection out of the tables by what the peer calls it.
func (m *Manager) forgetRemote(c *conn) {
	m.forgetRequest(c)
	if k := c.remoteID(); m.byID[k] == c {
		delete(m.byID, k)
	}
	m.forgetQPN(c)
}

// forgetRequest takes the connection out of the table of requests.
func (m *Manager) forgetRequest(c *conn) {
	if k := c.requestID(); m.requests[k] == c {
		delete(m.requests, k)
	}
}

// forgetQPN takes the connection out of the table of the peers' queue pairs.
func (m *Manager) forgetQPN(c *conn) {
	if k := c.remoteQPN(); m.byQPN[k] == c {
		delete(m.byQPN, k)
	}
}

// setTimer sets when the connection's next timeout is.
func (m *Manager) setTimer(c *conn, t Time) {
	c.deadline = t
	if c.at < 0 {
		heap.Push(&m.timers, c)
	} else {
		heap.Fix(&m.timers, c.at)
	}
}

func (m *Manager) stop(c *conn) {
	if c.at >= 0 {
		heap.Remove(&m.timers, c.at)
	}
}
