package cm

import "github.com/gorxe/gorxe/cm/mad"

// Disconnect sends a DREQ, in answer to which the event Disconnected comes; without an answer
// it comes after as many tries as the REQ asked for.
func (m *Manager) Disconnect(now Time, id mad.CommID, private []byte) error {
	c, err := m.lookup(id, "Disconnect", StateEstablished, StateREPSent)
	if err != nil {
		return err
	}
	m.out.Attribute, m.out.TransactionID = mad.AttrDREQ, m.transaction(id)
	m.out.DREQ = mad.DREQ{LocalCommID: c.local, RemoteCommID: c.remote, RemoteQPN: c.peerQPN, PrivateData: private}
	c.reply, c.retries = replyTime(c.lifetime, 0), dreqRetries
	if c.state == StateREPSent {
		// Nothing says that the peer is at its address: see backOff.
		c.retries = 0
	}
	if err := m.keep(now, c, &m.out); err != nil {
		return err
	}
	m.settle(c)
	c.state = StateDREQSent
	return nil
}

// Withdraw ends a request that the peer has not answered, without an event and without a word to
// the peer: its host has said that nothing there can answer.
func (m *Manager) Withdraw(id mad.CommID) error {
	c, err := m.lookup(id, "Withdraw", StateREQSent, StateSIDRREQSent)
	if err != nil {
		return err
	}
	m.remove(c)
	return nil
}

// Ignore forgets a request, as if it had been lost: its peer repeats it, which is then a new one, until
// its retries are spent.
func (m *Manager) Ignore(id mad.CommID) error {
	c, err := m.lookup(id, "Ignore", StateREQRcvd, StateSIDRREQRcvd)
	if err != nil {
		return err
	}
	m.counters.Ignored++
	m.remove(c)
	return nil
}

// A DREQ is answered by a connection manager without asking a program, so its sender need not
// wait as long as that of a REQ, nor ask as often.
const dreqRetries = 7

// replyTime is how long in nanoseconds to wait for the answer of a peer that chose the times
// itself: no less than 0.5 s and no more than 8.6 s, so that it can neither draw a burst of
// repetitions nor hold a half-open connection for hours.
func replyTime(lifetime, response mad.Timeout) int64 {
	return min(max(mad.ReplyTimeout(lifetime, response), 500e6), mad.Timeout(21).Nanoseconds())
}

// Cancel ends a connection that is not established, or a request for a service ID, without an
// event: the program does not want it any more.
func (m *Manager) Cancel(now Time, id mad.CommID) error {
	c, err := m.lookup(id, "Cancel", StateREQSent, StateREPRcvd, StateREQRcvd, StateREPSent, StateSIDRREQSent, StateSIDRREQRcvd)
	if err != nil {
		return err
	}
	if c.state == StateSIDRREQSent || c.state == StateSIDRREQRcvd {
		m.remove(c)
		return nil
	}
	m.quit(now, c)
	return nil
}

// restNow lets a connection rest: a peer that repeats itself finds it in TIMEWAIT, and its
// communication IDs are not given to another. The peer's queue pair is the peer's to use again, at
// once if it does not mind what may still be on the way; Linux takes it, too. A DREQ is answered with
// the DREP that tid belongs to.
func (m *Manager) restNow(now Time, c *conn, tid uint64) {
	m.settle(c)
	m.forgetQPN(c)
	c.state = StateTimewait
	m.out.Attribute, m.out.TransactionID = mad.AttrDREP, tid
	m.out.DREP = mad.DREP{LocalCommID: c.local, RemoteCommID: c.remote}
	// The error is of values that do not fit their fields, and a DREP has none such.
	_ = m.out.Encode(&c.sent)
	c.has = true
	m.remember(c, now+Time(c.rest))
}

// remember keeps what has ended until t, or until there is no room. A peer for which there is
// none makes no other's be forgotten.
func (m *Manager) remember(c *conn, t Time) {
	if m.rest.peers[c.peer.GID] >= m.cfg.MaxTimewaitPeer {
		m.counters.Forgotten++
		m.remove(c)
		return
	}
	for m.rest.n >= m.cfg.MaxTimewait {
		m.counters.Forgotten++
		m.remove(m.rest.first)
	}
	m.rest.add(c)
	m.setTimer(c, t)
}

// maxRest bounds what a peer can ask for: 4.3 s, twice what Linux asks for.
const maxRest mad.Timeout = 20

// restTime is how long packets of a connection may be on their way after its end: the local
// ACK timeout, as Linux has it.
func restTime(localACK mad.Timeout) int64 { return min(localACK, maxRest).Nanoseconds() }
