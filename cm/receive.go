package cm

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
)

// react does what the table of reactions says.
func (m *Manager) react(now Time, c *conn, msg *mad.Message) Verdict {
	switch reactions[c.state][msg.Attribute.Index()] {
	case ignored:
		return VerdictDuplicate
	case again:
		if !c.has {
			return VerdictOutOfPlace
		}
		m.resend(c)
		if c.state == StateREPSent {
			m.backOff(now, c)
		}
		return VerdictDuplicate
	case mra:
		m.acknowledge(now, c, msg)
		return VerdictDuplicate
	case stale:
		m.reject(c.peer, msg.TransactionID, &mad.REJ{RemoteCommID: c.remote, Reason: mad.RejectStaleConn})
		return VerdictStale
	case over:
		m.release(c)
		return VerdictDuplicate
	case replied:
		return m.reply(now, c, msg)
	case longer:
		wait := Time(min(mad.MRATimeout(msg.MRA.ServiceTimeout, c.lifetime), m.cfg.Patience))
		if c.state == StateREPSent {
			// All of them together lengthen the wait by Patience: a peer does not stay half-open
			// for as long as it likes.
			wait = min(wait, c.patience)
			c.patience -= wait
			if wait == 0 {
				return VerdictDuplicate
			}
			c.until += wait
			c.left = max(c.left, 1)
			if c.heard {
				// The data overtook the MRA: the RTU was sent, and the REP goes on asking for it.
				return VerdictTaken
			}
		}
		m.setTimer(c, now+wait)
	case refused:
		m.tell(c, Rejected).REJ = clone(&msg.REJ)
		m.remove(c)
	case lost:
		kind := Disconnected
		if c.state == StateREPSent {
			kind = Rejected
		}
		m.restNow(now, c, c.tid)
		m.tell(c, kind).REJ = clone(&msg.REJ)
	case ready:
		return m.established(now, c)
	case release:
		if msg.DREQ.RemoteQPN != c.localQPN {
			return VerdictWrongQPN
		}
		c.remote, c.remoteKnown = msg.DREQ.LocalCommID, true
		m.restNow(now, c, msg.TransactionID)
		m.resend(c)
		m.tell(c, Disconnected).DREQ = cloneDREQ(&msg.DREQ)
	case released:
		m.restNow(now, c, msg.TransactionID)
		m.tell(c, Disconnected)
	case denied:
		if !c.deniedBy(now, msg) {
			return VerdictOutOfPlace
		}
		m.restNow(now, c, c.tid)
		m.tell(c, Disconnected)
	case resolved:
		r := msg.SIDRREP
		r.PrivateData, r.AdditionalInformation = slices.Clone(r.PrivateData), slices.Clone(r.AdditionalInformation)
		m.tell(c, Resolved).SIDRREP = &r
		m.remove(c)
	default:
		return VerdictOutOfPlace
	}
	return VerdictTaken
}

// expire does what is due for a connection whose deadline has come.
func (m *Manager) expire(now Time, c *conn) {
	switch c.state {
	case StateTimewait, StateSIDRREPSent:
		m.remove(c)
	case StateREQRcvd, StateREPRcvd:
		m.giveUp(now, c)
	case StateEstablished:
		m.repeatRTU(now, c)
	case StateSIDRREQRcvd:
		m.tell(c, Unreachable)
		m.remove(c)
	default:
		if c.left == 0 {
			m.giveUp(now, c)
			return
		}
		c.left--
		m.counters.Retries[m.resend(c).Index()]++
		if c.state == StateREPSent {
			c.gap *= 2
			m.setTimer(c, c.nextREP(now))
			return
		}
		m.setTimer(c, now+Time(c.reply))
	}
}

// giveUp ends a connection of which nobody was heard in time.
func (m *Manager) giveUp(now Time, c *conn) {
	switch c.state {
	case StateDREQSent:
		m.restNow(now, c, c.tid)
		m.tell(c, Disconnected)
	case StateSIDRREQSent:
		m.tell(c, Unreachable)
		m.remove(c)
	default:
		m.tell(c, Unreachable)
		m.quit(now, c)
	}
}

// quit ends a connection that is not established with a REJ that says that this side no
// longer waits. The peer may know the connection by the GUID in it alone. After a REP it is a
// DREQ: the peer may be established, and takes no REJ then.
func (m *Manager) quit(now Time, c *conn) {
	if c.state == StateREPSent {
		m.release(c)
		m.restNow(now, c, c.tid)
		return
	}
	rej := mad.REJ{
		LocalCommID: c.local, RemoteCommID: c.remote, MessageRejected: c.answers(),
		Reason: mad.RejectTimeout, ARI: m.guid(),
	}
	m.reject(c.peer, c.tid, &rej)
	m.remove(c)
}

// release sends a DREQ that is not repeated.
func (m *Manager) release(c *conn) { m.sendDREQ(c, m.transaction(c.local), c.peerQPN) }

func (m *Manager) sendDREQ(c *conn, tid uint64, qpn bth.QPN) {
	m.out.Attribute, m.out.TransactionID = mad.AttrDREQ, tid
	m.out.DREQ = mad.DREQ{LocalCommID: c.local, RemoteCommID: c.remote, RemoteQPN: qpn}
	// The error is of values that do not fit their fields, and these do.
	_, _ = m.send(c.peer, &m.out)
}

// answers says which message of the peer a REJ of the connection would be about.
func (c *conn) answers() mad.Answered {
	switch c.state {
	case StateREQRcvd:
		return mad.AnsweredREQ
	case StateREPRcvd:
		return mad.AnsweredREP
	}
	return mad.AnsweredOther
}

// resend sends the connection's latest message once more and returns which it is.
func (m *Manager) resend(c *conn) mad.Attribute {
	m.sends.put(Outgoing{Peer: c.peer, MAD: c.sent})
	a := mad.Attribute(c.sent[16])<<8 | mad.Attribute(c.sent[17])
	m.counters.Sent[a.Index()]++
	return a
}

// keep sends msg and has it sent again until it is answered.
func (m *Manager) keep(now Time, c *conn, msg *mad.Message) error {
	sent, err := m.send(c.peer, msg)
	if err != nil {
		return err
	}
	c.sent, c.has, c.left = sent, true, c.retries
	m.setTimer(c, now+Time(c.reply))
	return nil
}

// reject sends a REJ. What the manager puts into it fits.
func (m *Manager) reject(to Peer, tid uint64, rej *mad.REJ) {
	m.out.Attribute, m.out.TransactionID, m.out.REJ = mad.AttrREJ, tid, *rej
	// The error is of values that do not fit their fields, and these do.
	_, _ = m.send(to, &m.out)
}

// acknowledge tells a peer that repeats itself that the program takes longer.
func (m *Manager) acknowledge(now Time, c *conn, msg *mad.Message) {
	m.setTimer(c, now+Time(m.cfg.Patience))
	m.out.Attribute, m.out.TransactionID = mad.AttrMRA, msg.TransactionID
	m.out.MRA = mad.MRA{LocalCommID: c.local, RemoteCommID: c.remote, MessageMRAed: c.answers(), ServiceTimeout: mraServiceTimeout}
	_, _ = m.send(c.peer, &m.out)
}

// mraServiceTimeout is what rdma_cm of Linux asks for: 69 s.
const mraServiceTimeout mad.Timeout = 24

func clone(r *mad.REJ) *mad.REJ {
	c := *r
	c.ARI, c.PrivateData = slices.Clone(c.ARI), slices.Clone(c.PrivateData)
	return &c
}

func cloneDREQ(r *mad.DREQ) *mad.DREQ {
	c := *r
	c.PrivateData = slices.Clone(c.PrivateData)
	return &c
}
