package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"slices"
)

// Connect sends a REQ to a peer and returns the communication ID of the new connection. The caller
// sets all fields except LocalCommID and LocalCAGUID. An unanswered REQ is retransmitted up to
// MaxCMRetries times, each time after the remote response timeout and two packet life times. The
// event Replied follows, or an event that ends the connection.
func (m *Manager) Connect(now Time, peer Peer, req *mad.REQ) (mad.CommID, error) {
	id := m.newID()
	lifetime := mad.PacketLifeTime(req.Primary.LocalACKTimeout)
	c := &conn{
		local: id, peer: peer, tid: m.transaction(id), localQPN: req.LocalQPN, lifetime: lifetime,
		responseTimeout: mad.ReplyTimeout(lifetime, req.RemoteCMResponseTimeout), retries: req.MaxCMRetries,
		timewaitTime: timewaitTime(req.Primary.LocalACKTimeout),
	}
	c.setService(req.ServiceID, req.PrivateData)
	m.out.Attribute, m.out.TransactionID, m.out.REQ = mad.AttrREQ, c.tid, *req
	m.out.REQ.LocalCommID, m.out.REQ.LocalCAGUID = id, m.cfg.CAGUID
	m.add(now, c, StateREQSent)
	if err := m.sendRepeated(now, c, &m.out); err != nil {
		m.remove(c)
		return 0, err
	}
	return id, nil
}

// transaction returns the transaction ID of the messages that this side sends as requests of a
// connection. Its upper half cannot be predicted; only messages of the connection contain it.
func (m *Manager) transaction(id mad.CommID) uint64 {
	return m.ids.transaction(id)<<32 | uint64(id)
}

// reply handles the REP to a REQ. A REP with a queue pair that belongs to another connection is
// rejected as stale.
func (m *Manager) reply(now Time, c *conn, msg *mad.Message) Verdict {
	r := &msg.REP
	c.remote, c.remoteKnown, c.peerQPN, c.peerGUID = r.LocalCommID, true, r.LocalQPN, r.LocalCAGUID
	if other := m.byQPN[c.remoteQPN()]; other != nil && other != c {
		m.reject(c.peer, msg.TransactionID, &mad.REJ{
			LocalCommID: c.local, RemoteCommID: c.remote, MessageRejected: mad.MessageREP, Reason: mad.RejectStaleConn,
		})
		m.probe(now, other)
		m.queueEvent(c, Rejected).REJ = &mad.REJ{LocalCommID: c.remote, RemoteCommID: c.local,
			MessageRejected: mad.MessageREP, Reason: mad.RejectStaleConn}
		m.remove(c)
		return VerdictStale
	}
	m.byID[c.remoteID()], m.byQPN[c.remoteQPN()] = c, c
	c.state = StateREPRcvd
	m.setTimer(c, now+Time(m.cfg.RequestTimeout))
	rep := *r
	rep.PrivateData = slices.Clone(rep.PrivateData)
	m.queueEvent(c, Replied).REP = &rep
	return VerdictTaken
}

// Established answers a REP with an RTU; the caller's queue pair must be ready to receive. private
// is the private data of the RTU. The RTU is repeated until CommEst reports a packet of the peer;
// see repeatRTU.
func (m *Manager) Established(now Time, id mad.CommID, private []byte) error {
	c, err := m.lookup(id, "Established", StateREPRcvd)
	if err != nil {
		return err
	}
	m.out.Attribute, m.out.TransactionID = mad.AttrRTU, c.tid
	m.out.RTU = mad.RTU{LocalCommID: c.local, RemoteCommID: c.remote, PrivateData: private}
	sent, err := m.send(c.peer, &m.out)
	if err != nil {
		return err
	}
	c.state, c.sent, c.hasSent = StateEstablished, sent, true
	c.until = now + Time(c.responseTimeout)*(Time(c.retries)+1)
	c.interval = c.responseTimeout / firstRTU
	m.setTimer(c, now+Time(c.interval))
	return nil
}
