package cm

import "github.com/gorxe/gorxe/cm/mad"

// Disconnect sends a DREQ with the given private data. The event Disconnected follows when the peer
// has answered, or when the last retransmission has timed out.
func (m *Manager) Disconnect(now Time, id mad.CommID, private []byte) error {
	c, err := m.lookup(id, "Disconnect", StateEstablished, StateREPSent)
	if err != nil {
		return err
	}
	m.out.Attribute, m.out.TransactionID = mad.AttrDREQ, m.transaction(id)
	m.out.DREQ = mad.DREQ{LocalCommID: c.local, RemoteCommID: c.remote, RemoteQPN: c.peerQPN, PrivateData: private}
	c.responseTimeout, c.retries = replyTime(c.lifetime, 0), dreqRetries
	if c.state == StateREPSent {
		// Nothing proves that the peer is at its address, so the DREQ is not repeated: see backOff.
		c.retries = 0
	}
	if err := m.sendRepeated(now, c, &m.out); err != nil {
		return err
	}
	m.endHalfOpen(c)
	c.state = StateDREQSent
	return nil
}

// AbandonRequest ends a request that the peer has not answered, without an event and without a
// message to the peer: the caller knows from the peer's host that no program there can answer.
func (m *Manager) AbandonRequest(id mad.CommID) error {
	c, err := m.lookup(id, "AbandonRequest", StateREQSent, StateSIDRREQSent)
	if err != nil {
		return err
	}
	m.remove(c)
	return nil
}

// Ignore removes a request of a peer without answering it, as if it had been lost. The peer repeats
// the request until its retries are exhausted; each copy is a new request.
func (m *Manager) Ignore(id mad.CommID) error {
	c, err := m.lookup(id, "Ignore", StateREQRcvd, StateSIDRREQRcvd)
	if err != nil {
		return err
	}
	m.counters.Ignored++
	m.remove(c)
	return nil
}

// dreqRetries is the maximum number of retransmissions of a DREQ. The peer answers a DREQ without
// asking its program, so a DREQ needs a shorter timeout and fewer retransmissions than a REQ.
const dreqRetries = 7

// replyTime returns the response timeout in nanoseconds for codes that the peer chose. It is at
// least 0.5 s and at most 8.6 s, so that the peer can neither cause a burst of retransmissions nor
// keep a connection half-open for hours.
func replyTime(lifetime, response mad.Timeout) int64 {
	return min(max(mad.ReplyTimeout(lifetime, response), 500e6), mad.Timeout(21).Nanoseconds())
}

// Cancel ends a connection that is not established, or a request for a service ID, without an
// event: the program no longer wants it.
func (m *Manager) Cancel(now Time, id mad.CommID) error {
	c, err := m.lookup(id, "Cancel", StateREQSent, StateREPRcvd, StateREQRcvd, StateREPSent, StateSIDRREQSent,
		StateSIDRREQRcvd)
	if err != nil {
		return err
	}
	if c.state == StateSIDRREQSent || c.state == StateSIDRREQRcvd {
		m.remove(c)
		return nil
	}
	m.abandon(now, c)
	return nil
}

// enterTimewait moves a connection to TIMEWAIT, where it answers a peer that repeats messages and
// keeps its communication IDs reserved. The peer may use its queue pair for a new connection at
// once, as with Linux; packets of this connection may then still be in flight. The answer to a
// repeated DREQ is a DREP with transaction ID tid.
func (m *Manager) enterTimewait(now Time, c *conn, tid uint64) {
	m.endHalfOpen(c)
	m.forgetQPN(c)
	c.state = StateTimewait
	m.out.Attribute, m.out.TransactionID = mad.AttrDREP, tid
	m.out.DREP = mad.DREP{LocalCommID: c.local, RemoteCommID: c.remote}
	// Encode fails only for values that do not fit their fields; a DREP has none.
	_ = m.out.Encode(&c.sent)
	c.hasSent = true
	m.remember(c, now+Time(c.timewaitTime))
}

// remember keeps an ended connection until t, or until a newer one needs its place. If the peer is
// at its own limit (MaxTimewaitPeer), the connection is removed at once, so that one peer cannot
// evict the entries of others.
func (m *Manager) remember(c *conn, t Time) {
	if m.timewait.peers[c.peer.GID] >= m.cfg.MaxTimewaitPeer {
		m.counters.Forgotten++
		m.remove(c)
		return
	}
	for m.timewait.n >= m.cfg.MaxTimewait {
		m.counters.Forgotten++
		m.remove(m.timewait.first)
	}
	m.timewait.add(c)
	m.setTimer(c, t)
}

// maxTimewait limits the time in TIMEWAIT that a peer can request: 4.3 s, twice what Linux
// requests.
const maxTimewait mad.Timeout = 20

// timewaitTime returns how long packets of a connection may be in flight after its end, in
// nanoseconds: the local ACK timeout, as in Linux, but at most maxTimewait.
func timewaitTime(localACK mad.Timeout) int64 { return min(localACK, maxTimewait).Nanoseconds() }
