package cm

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
)

// react processes a message of connection c: it does what the table reactions specifies for the
// state of c.
func (m *Manager) react(now Time, c *conn, msg *mad.Message) Verdict {
	switch reactions[c.state][msg.Attribute.Index()] {
	case ignored:
		return VerdictDuplicate
	case retransmit:
		if !c.hasSent {
			return VerdictOutOfPlace
		}
		m.resend(c)
		if c.state == StateREPSent {
			m.backOff(now, c)
		}
		return VerdictDuplicate
	case mra:
		m.sendMRA(now, c, msg)
		return VerdictDuplicate
	case stale:
		m.reject(c.peer, msg.TransactionID, &mad.REJ{RemoteCommID: c.remote, Reason: mad.RejectStaleConn})
		return VerdictStale
	case disconnectAgain:
		m.sendDREQOnce(c)
		return VerdictDuplicate
	case replied:
		return m.reply(now, c, msg)
	case extend:
		wait := Time(min(mad.MRATimeout(msg.MRA.ServiceTimeout, c.lifetime), m.cfg.RequestTimeout))
		if c.state == StateREPSent {
			// All MRAs together extend the wait by at most RequestTimeout, so that a peer cannot
			// keep a connection half-open indefinitely.
			wait = min(wait, c.mraBudget)
			c.mraBudget -= wait
			if wait == 0 {
				return VerdictDuplicate
			}
			c.until += wait
			c.retriesLeft = max(c.retriesLeft, 1)
			if c.sawPacket {
				// The data overtook the MRA: the RTU was sent, and the repeated REP continues to
				// request it.
				return VerdictTaken
			}
		}
		m.setTimer(c, now+wait)
	case refused:
		m.queueEvent(c, Rejected).REJ = clone(&msg.REJ)
		m.remove(c)
	case toTimewait:
		kind := Disconnected
		if c.state == StateREPSent {
			kind = Rejected
		}
		m.enterTimewait(now, c, c.tid)
		m.queueEvent(c, kind).REJ = clone(&msg.REJ)
	case ready:
		return m.established(now, c)
	case release:
		if msg.DREQ.RemoteQPN != c.localQPN {
			return VerdictWrongQPN
		}
		c.remote, c.remoteKnown = msg.DREQ.LocalCommID, true
		m.enterTimewait(now, c, msg.TransactionID)
		m.resend(c)
		m.queueEvent(c, Disconnected).DREQ = cloneDREQ(&msg.DREQ)
	case released:
		m.enterTimewait(now, c, msg.TransactionID)
		m.queueEvent(c, Disconnected)
	case probeAnswer:
		if !c.answersProbe(now, msg) {
			return VerdictOutOfPlace
		}
		m.enterTimewait(now, c, c.tid)
		m.queueEvent(c, Disconnected)
	case resolved:
		r := msg.SIDRREP
		r.PrivateData, r.AdditionalInformation = slices.Clone(r.PrivateData), slices.Clone(r.AdditionalInformation)
		m.queueEvent(c, Resolved).SIDRREP = &r
		m.remove(c)
	default:
		return VerdictOutOfPlace
	}
	return VerdictTaken
}

// expire handles the timer of a connection.
func (m *Manager) expire(now Time, c *conn) {
	switch c.state {
	case StateTimewait, StateSIDRREPSent:
		m.remove(c)
	case StateREQRcvd, StateREPRcvd:
		m.giveUp(now, c)
	case StateEstablished:
		m.repeatRTU(now, c)
	case StateSIDRREQRcvd:
		m.queueEvent(c, Unreachable)
		m.remove(c)
	default:
		if c.retriesLeft == 0 {
			m.giveUp(now, c)
			return
		}
		c.retriesLeft--
		m.counters.Retries[m.resend(c).Index()]++
		if c.state == StateREPSent {
			c.interval *= 2
			m.setTimer(c, c.nextREP(now))
			return
		}
		m.setTimer(c, now+Time(c.responseTimeout))
	}
}

// giveUp ends a connection whose peer has not answered in time.
func (m *Manager) giveUp(now Time, c *conn) {
	switch c.state {
	case StateDREQSent:
		m.enterTimewait(now, c, c.tid)
		m.queueEvent(c, Disconnected)
	case StateSIDRREQSent:
		m.queueEvent(c, Unreachable)
		m.remove(c)
	default:
		m.queueEvent(c, Unreachable)
		m.abandon(now, c)
	}
}

// abandon ends a connection that is not established. It sends a REJ with the reason timeout. The
// REJ contains the GUID of this side, because the peer may not know the communication ID of this
// side. After a REP, abandon sends a DREQ instead: the peer may be in ESTABLISHED, where it accepts
// no REJ.
func (m *Manager) abandon(now Time, c *conn) {
	if c.state == StateREPSent {
		m.sendDREQOnce(c)
		m.enterTimewait(now, c, c.tid)
		return
	}
	rej := mad.REJ{
		LocalCommID: c.local, RemoteCommID: c.remote, MessageRejected: c.answers(),
		Reason: mad.RejectTimeout, ARI: m.guid(),
	}
	m.reject(c.peer, c.tid, &rej)
	m.remove(c)
}

// sendDREQOnce sends a DREQ that is not retransmitted. It does not change c.
func (m *Manager) sendDREQOnce(c *conn) { m.sendDREQ(c, m.transaction(c.local), c.peerQPN) }

func (m *Manager) sendDREQ(c *conn, tid uint64, qpn bth.QPN) {
	m.out.Attribute, m.out.TransactionID = mad.AttrDREQ, tid
	m.out.DREQ = mad.DREQ{LocalCommID: c.local, RemoteCommID: c.remote, RemoteQPN: qpn}
	// send fails only for values that do not fit their fields; these fit.
	_, _ = m.send(c.peer, &m.out)
}

// answers returns the type of the message that a REJ or MRA of this side answers.
func (c *conn) answers() mad.MessageType {
	switch c.state {
	case StateREQRcvd:
		return mad.MessageREQ
	case StateREPRcvd:
		return mad.MessageREP
	}
	return mad.MessageOther
}

// resend retransmits the connection's last message and returns its attribute.
func (m *Manager) resend(c *conn) mad.Attribute {
	m.sends.put(Outgoing{Peer: c.peer, MAD: c.sent})
	a := mad.Attribute(c.sent[16])<<8 | mad.Attribute(c.sent[17])
	m.counters.Sent[a.Index()]++
	return a
}

// sendRepeated sends msg and makes the timer retransmit it, up to c.retries times, until it is
// answered.
func (m *Manager) sendRepeated(now Time, c *conn, msg *mad.Message) error {
	sent, err := m.send(c.peer, msg)
	if err != nil {
		return err
	}
	c.sent, c.hasSent, c.retriesLeft = sent, true, c.retries
	m.setTimer(c, now+Time(c.responseTimeout))
	return nil
}

// reject sends a REJ. All callers give values that fit their fields.
func (m *Manager) reject(to Peer, tid uint64, rej *mad.REJ) {
	m.out.Attribute, m.out.TransactionID, m.out.REJ = mad.AttrREJ, tid, *rej
	_, _ = m.send(to, &m.out) // send fails only for values that do not fit their fields
}

// sendMRA sends an MRA to a peer that repeats its message, because the program has not answered
// yet. The wait for the program starts anew.
func (m *Manager) sendMRA(now Time, c *conn, msg *mad.Message) {
	m.setTimer(c, now+Time(m.cfg.RequestTimeout))
	m.out.Attribute, m.out.TransactionID = mad.AttrMRA, msg.TransactionID
	m.out.MRA = mad.MRA{LocalCommID: c.local, RemoteCommID: c.remote, MessageMRAed: c.answers(),
		ServiceTimeout: mraServiceTimeout}
	_, _ = m.send(c.peer, &m.out)
}

// mraServiceTimeout is the service timeout in MRAs, 69 s as in Linux rdma_cm.
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
