package cm

import (
	"crypto/sha256"
	"encoding/binary"
	"github.com/gorxe/gorxe/cm/mad"
	"slices"
)

// request handles a REQ. raw is the whole MAD.
func (m *Manager) request(now Time, from Peer, msg *mad.Message, raw []byte) Verdict {
	r := &msg.REQ
	c := &conn{
		remote: r.LocalCommID, remoteKnown: true, peer: from, tid: msg.TransactionID,
		peerQPN: r.LocalQPN, peerGUID: r.LocalCAGUID,
		lifetime:     mad.PacketLifeTime(r.Primary.LocalACKTimeout),
		retries:      r.MaxCMRetries,
		timewaitTime: timewaitTime(r.Primary.LocalACKTimeout),
		digest:       sha256.Sum256(raw),
	}
	c.responseTimeout = replyTime(c.lifetime, r.LocalCMResponseTimeout)
	if known := m.connOf(c); known != nil {
		return m.react(now, known, msg)
	}
	rej := mad.REJ{RemoteCommID: r.LocalCommID}
	if old := m.byQPN[c.remoteQPN()]; old != nil {
		if m.probe(now, old) {
			return VerdictSuspect
		}
		rej.Reason = mad.RejectStaleConn
		m.reject(from, msg.TransactionID, &rej)
		return VerdictStale
	}
	l := m.listening(r.ServiceID, from.SGIDIndex)
	if l == nil || !r.ServiceID.Connects() {
		rej.Reason = mad.RejectInvalidServiceID
		m.reject(from, msg.TransactionID, &rej)
		return VerdictNoListener
	}
	if !m.acceptable(from, msg) {
		return VerdictRefused
	}
	if v := m.admit(now, l, from); v != VerdictTaken {
		return v
	}
	c.setService(r.ServiceID, r.PrivateData)
	c.local = m.newID()
	m.add(now, c, StateREQRcvd)
	m.beginHalfOpen(c, l)
	m.requests[c.requestID()] = c
	m.setTimer(c, now+Time(m.cfg.RequestTimeout))
	e := m.queueEvent(c, Requested)
	e.Listener, e.REQ = l.id, cloneREQ(r)
	return VerdictTaken
}

// acceptable reports whether a program could accept a REQ. If not, it rejects the REQ.
func (m *Manager) acceptable(from Peer, msg *mad.Message) bool {
	if m.cfg.Local == nil {
		return true
	}
	refuse := mad.Rejection{Reason: mad.RejectInvalidGID}
	gid, mtu, ok := m.cfg.Local(from.SGIDIndex)
	if ok {
		if refuse, ok = msg.REQ.Check(from.GID, gid, mtu); ok {
			return true
		}
		if err := msg.REQ.CheckSender(from.GID); err != nil {
			m.counters.CountBadAddress(err)
		}
	}
	m.reject(from, msg.TransactionID,
		&mad.REJ{RemoteCommID: msg.REQ.LocalCommID, Reason: refuse.Reason, ARI: refuse.ARI()})
	return false
}

// connOf returns the connection that a peer's REQ belongs to, or nil for a new request. Before the
// RTU (see requestID), only an exact copy of its REQ belongs to a connection; after it, every REQ
// with its communication ID. Two different REQs with one communication ID are therefore two
// connections, and the RTU shows which of them is the peer's.
func (m *Manager) connOf(request *conn) *conn {
	if c := m.requests[request.requestID()]; c != nil {
		return c
	}
	return m.byID[request.remoteID()]
}

// Accept answers a request with REP. The caller sets LocalQPN, StartingPSN, the resources, the RNR
// retry count, SRQ, flow control and private data; Accept sets the rest. The event Established
// follows, or an event that ends the connection.
func (m *Manager) Accept(now Time, id mad.CommID, rep *mad.REP) error {
	c, err := m.lookup(id, "Accept", StateREQRcvd)
	if err != nil {
		return err
	}
	m.out.Attribute, m.out.TransactionID, m.out.REP = mad.AttrREP, c.tid, *rep
	m.out.REP.LocalCommID, m.out.REP.RemoteCommID, m.out.REP.LocalCAGUID = c.local, c.remote, m.cfg.CAGUID
	if err := m.sendRepeated(now, c, &m.out); err != nil {
		return err
	}
	m.waitForRTU(c)
	c.localQPN, c.state = rep.LocalQPN, StateREPSent
	c.until = now + Time(c.responseTimeout)*(Time(c.retries)+1)
	c.mraBudget = Time(m.cfg.RequestTimeout)
	m.backOff(now, c)
	return nil
}

// Reject answers a REQ or a REP with a REJ and ends the connection without an event. ari is the
// additional reject information, private the private data of the REJ.
func (m *Manager) Reject(id mad.CommID, reason mad.RejectReason, ari, private []byte) error {
	c, err := m.lookup(id, "Reject", StateREQRcvd, StateREPRcvd)
	if err != nil {
		return err
	}
	m.out.Attribute, m.out.TransactionID = mad.AttrREJ, c.tid
	m.out.REJ = mad.REJ{
		LocalCommID: c.local, RemoteCommID: c.remote, MessageRejected: c.answers(),
		Reason: reason, ARI: ari, PrivateData: private,
	}
	if _, err := m.send(c.peer, &m.out); err != nil {
		return err
	}
	m.remove(c)
	return nil
}

// CommEst reports that a packet arrived for the queue pair of a connection. In ESTABLISHED it means
// that the peer has the RTU that this side sent. In REP_SENT the peer's RTU is late or lost; unless
// it arrives, the REP is repeated to request it. The packet does not establish the connection,
// although IBA 12.9.7.2 permits that: the packet proves only that its sender knows the 24-bit queue
// pair number, and a host that can forge the source address of a REQ can forge that of such a
// packet too.
func (m *Manager) CommEst(now Time, id mad.CommID) {
	c := m.conns[id]
	switch {
	case c == nil:
	case c.state == StateREPSent:
		c.sawPacket = true
		if c.retriesLeft > 0 {
			m.setTimer(c, min(c.deadline, now+rtuLate))
		}
	case c.state == StateEstablished:
		m.stop(c)
	}
}

// rtuLate is how long data may overtake an RTU, in nanoseconds.
const rtuLate = Time(10e6)

// established handles an RTU. If another connection already uses the peer's queue pair, the RTU is
// dropped, and a probe asks the peer whether it still has the other connection. If it does not, its
// answer ends the other connection, and the RTU that answers the next repeated REP is accepted.
func (m *Manager) established(now Time, c *conn) Verdict {
	if other := m.byQPN[c.remoteQPN()]; other != nil {
		if m.probe(now, other) {
			return VerdictSuspect
		}
		return VerdictStale
	}
	if m.byID[c.remoteID()] != nil {
		return VerdictStale
	}
	m.forgetRequest(c)
	m.byID[c.remoteID()], m.byQPN[c.remoteQPN()] = c, c
	m.stop(c)
	m.endHalfOpen(c)
	c.state, c.hasSent = StateEstablished, false
	m.queueEvent(c, Established)
	return VerdictTaken
}

// rejectedConn returns the connection that a REJ refers to, or nil. A peer that abandons its REQ
// knows only its own communication ID. Its REJ contains this ID and its GUID; together with the
// transaction ID of the REQ, they identify a request that this side has not accepted. Once a REP
// was sent or received, a REJ must contain both communication IDs.
func (m *Manager) rejectedConn(from Peer, msg *mad.Message) *conn {
	r := &msg.REJ
	if r.Reason == mad.RejectTimeout && len(r.ARI) >= 8 {
		id := remoteID{from.GID, mad.GUID(binary.BigEndian.Uint64(r.ARI)), r.LocalCommID}
		if c := m.unacceptedRequest(id, msg.TransactionID); c != nil {
			return c
		}
	}
	return m.conns[r.RemoteCommID]
}

// unacceptedRequest returns the request with this remote ID and transaction ID if the program has
// not answered it, else nil. It searches all requests of the address, whose number the backlogs
// limit.
func (m *Manager) unacceptedRequest(id remoteID, tid uint64) *conn {
	p := m.peers[id.gid]
	if p == nil {
		return nil
	}
	for c := p.waiting.first; c != nil; c = c.links[ofWaitingPeer].after {
		if c.state == StateREQRcvd && c.tid == tid && c.remoteID() == id {
			return c
		}
	}
	return nil
}

// guid returns this side's GUID as additional information of a REJ.
func (m *Manager) guid() []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(m.cfg.CAGUID))
}

func cloneREQ(r *mad.REQ) *mad.REQ {
	c := *r
	c.PrivateData = slices.Clone(c.PrivateData)
	return &c
}
