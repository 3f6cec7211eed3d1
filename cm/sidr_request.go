package cm

import (
	"crypto/sha256"
	"github.com/gorxe/gorxe/cm/mad"
	"slices"
)

// Resolve requests the queue pair of a service from a peer and returns the communication ID of the
// request. An unanswered SIDR_REQ is retransmitted every wait nanoseconds, up to retries times. The
// event Resolved or Unreachable follows.
func (m *Manager) Resolve(now Time, peer Peer, req *mad.SIDRREQ, wait int64, retries uint8) (mad.CommID, error) {
	id := m.newID()
	c := &conn{local: id, peer: peer, tid: m.transaction(id), responseTimeout: wait, retries: retries}
	c.setService(req.ServiceID, req.PrivateData)
	m.out.Attribute, m.out.TransactionID, m.out.SIDRREQ = mad.AttrSIDRREQ, c.tid, *req
	m.out.SIDRREQ.RequestID = id
	m.add(now, c, StateSIDRREQSent)
	if err := m.sendRepeated(now, c, &m.out); err != nil {
		m.remove(c)
		return 0, err
	}
	return id, nil
}

// sidrRequest handles a SIDR_REQ. raw is the whole MAD.
func (m *Manager) sidrRequest(now Time, from Peer, msg *mad.Message, raw []byte) Verdict {
	r := &msg.SIDRREQ
	c := &conn{remote: r.RequestID, remoteKnown: true, peer: from, tid: msg.TransactionID, digest: sha256.Sum256(raw)}
	if known := m.requests[c.requestID()]; known != nil {
		return m.react(now, known, msg)
	}
	l := m.listening(r.ServiceID, from.SGIDIndex)
	if ps, _, ok := r.ServiceID.IP(); l == nil || ok && ps == mad.PortSpaceTCP {
		m.refuseSIDR(from, msg, mad.SIDRUnsupported)
		return VerdictNoListener
	}
	if v := m.admit(now, l, from); v != VerdictTaken {
		return v
	}
	c.setService(r.ServiceID, r.PrivateData)
	c.local = m.newID()
	m.add(now, c, StateSIDRREQRcvd)
	m.beginHalfOpen(c, l)
	m.requests[c.requestID()] = c
	m.setTimer(c, now+Time(m.cfg.RequestTimeout))
	req := *r
	req.PrivateData = slices.Clone(req.PrivateData)
	e := m.queueEvent(c, SIDRRequested)
	e.Listener, e.SIDRREQ = l.id, &req
	return VerdictTaken
}

// refuseSIDR rejects a SIDR_REQ without keeping state.
func (m *Manager) refuseSIDR(to Peer, msg *mad.Message, status mad.SIDRStatus) {
	m.out.Attribute, m.out.TransactionID = mad.AttrSIDRREP, msg.TransactionID
	m.out.SIDRREP = mad.SIDRREP{RequestID: msg.SIDRREQ.RequestID, Status: status, ServiceID: msg.SIDRREQ.ServiceID}
	_, _ = m.send(to, &m.out)
}

// Answer answers a request for a service ID. The caller sets all fields except the RequestID. The
// answer is kept for a few seconds: a peer that missed it gets it again, without another event.
func (m *Manager) Answer(now Time, id mad.CommID, rep *mad.SIDRREP) error {
	c, err := m.lookup(id, "Answer", StateSIDRREQRcvd)
	if err != nil {
		return err
	}
	m.out.Attribute, m.out.TransactionID, m.out.SIDRREP = mad.AttrSIDRREP, c.tid, *rep
	m.out.SIDRREP.RequestID = c.remote
	sent, err := m.send(c.peer, &m.out)
	if err != nil {
		return err
	}
	m.endHalfOpen(c)
	c.state, c.sent, c.hasSent = StateSIDRREPSent, sent, true
	m.remember(c, now+Time(sidrKept))
	return nil
}

// sidrKept is how long an answer is kept, in nanoseconds: twice the response timeout of Linux.
const sidrKept = int64(10e9)
