package trace

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/cm/mad"
)

// sayMAD writes the meaning of a CM message. e is nil if its exchange is not known.
func (a *Analyzer) sayMAD(e *exchange) {
	l, m := &a.line, a.p.MAD
	if l.quiet {
		return
	}
	l.s(m.Attribute.String())
	if a.p.Again {
		l.s(", retransmitted")
	}
	switch m.Attribute {
	case mad.AttrREQ:
		r := &m.REQ
		l.s(": connection request to ").s(ServiceName(r.ServiceID)).s(" with QP ").qpn(r.LocalQPN)
		if r.PathMTU >= 1 && r.PathMTU <= 5 {
			l.s(", path MTU ").n(128 << r.PathMTU)
		}
		l.s(", expects PSN ").psn(r.StartingPSN).s(" first")
	case mad.AttrREP:
		l.s(": accepts with QP ").qpn(m.REP.LocalQPN).s(", expects PSN ").psn(m.REP.StartingPSN).s(" first")
	case mad.AttrRTU:
		l.s(": connection established")
		if e != nil && e.c.CM.SetupTime > 0 {
			l.s(", ").s(lasting(int64(e.c.CM.SetupTime))).s(" after the first REQ")
		}
	case mad.AttrREJ:
		l.s(": rejects ").s(m.REJ.MessageRejected.String()).s(", ").s(m.REJ.Reason.String()).s(a.ari(&m.REJ))
	case mad.AttrMRA:
		l.s(": has ").s(m.MRA.MessageMRAed.String()).s(", and needs more time to answer")
	case mad.AttrDREQ:
		l.s(": disconnect request for QP ").qpn(m.DREQ.RemoteQPN)
	case mad.AttrDREP:
		l.s(": disconnected")
	case mad.AttrSIDRREQ:
		l.s(": requests the datagram queue pair of ").s(ServiceName(m.SIDRREQ.ServiceID))
	case mad.AttrSIDRREP:
		r := &m.SIDRREP
		if r.Status == mad.SIDRSuccess {
			l.s(": ").s(ServiceName(r.ServiceID)).s(" has QP ").qpn(r.QPN).s(", Q_Key ").hex(uint64(r.QKey))
		} else {
			l.s(": ").s(r.Status.String())
		}
	}
	if e == nil && m.Attribute != mad.AttrSIDRREQ && m.Attribute != mad.AttrSIDRREP {
		l.s(" (connection not in the capture)")
	}
}

// ServiceName returns the port that id contains, such as "rdma_cm port 7174 (port space TCP)", or
// id as a number. The port is one of RDMA_PS_TCP or RDMA_PS_UDP, not of TCP or UDP.
func ServiceName(id mad.ServiceID) string {
	if space, port, ok := id.IP(); ok {
		return fmt.Sprintf("rdma_cm port %d (port space %s)", port, space)
	}
	return id.String()
}

// countTransmission records the CM message of the packet. If the exchange e has had it before, it
// marks the packet as retransmitted and adds the finding cm_retry.
func (a *Analyzer) countTransmission(e *exchange) {
	p := a.p
	attr := p.MAD.Attribute
	s := &e.times[attr-mad.AttrREQ]
	if s.count > 0 && s.src == p.Src.Addr() {
		p.Again = true
		e.c.Again++
		e.c.CM.Retries++
		why := "no response in that time"
		switch {
		case attr == mad.AttrRTU || attr == mad.AttrDREP || attr == mad.AttrMRA:
			why = "the peer retransmitted its message"
		case e.times[mad.AttrMRA-mad.AttrREQ].count > 0:
			why = "the response took longer than announced in the MRA"
		}
		a.note(CMRetry, Warning, fmt.Sprintf("%s is retransmitted %s after frame %d: %s", attr,
			lasting(int64(elapsed(s.at, p.Time))), s.frame, why),
			s.frame, p.Number)
	}
	s.count++
	s.frame, s.at, s.src = p.Number, p.Time, p.Src.Addr()
}

// resolves records the current SIDR_REQ. If the request ID is among the latest maxAsking of c, it
// marks the packet as retransmitted and adds the finding cm_retry.
func (a *Analyzer) resolves(c *conn, id mad.CommID) {
	p := a.p
	now := asking{id: id, sighting: sighting{frame: p.Number, at: p.Time, src: p.Src.Addr()}}
	for i := range c.asking {
		if s := &c.asking[i]; s.frame > 0 && s.id == id && s.src == now.src {
			p.Again = true
			c.Again++
			a.note(CMRetry, Warning,
				fmt.Sprintf("SIDR_REQ is retransmitted %s after frame %d: no response in that time",
					lasting(int64(elapsed(s.at, p.Time))), s.frame), s.frame, p.Number)
			s.sighting = now.sighting
			return
		}
	}
	if len(c.asking) < maxAsking {
		c.asking = append(c.asking, now)
	} else {
		c.asking[c.asked%maxAsking] = now
	}
	c.asked++
}

// maxAsking is the number of SIDR_REQs that are remembered per pair of hosts.
const maxAsking = 8

// asking is a remembered SIDR_REQ.
type asking struct {
	id mad.CommID
	sighting
}

// rejected processes a REJ.
func (a *Analyzer) rejected(e *exchange) {
	p, r := a.p, &a.p.MAD.REJ
	why := r.Reason.String() + a.ari(r)
	e.c.CM.Rejected = why
	if e.c.Err == "" {
		e.c.Err = "rejected: " + why
	}
	frames := []int{p.Number}
	what := r.MessageRejected.String()
	if s := e.times[0]; r.MessageRejected == mad.MessageREQ && s.frame > 0 {
		frames = []int{s.frame, p.Number}
		what = fmt.Sprintf("the REQ of frame %d", s.frame)
	} else if r.MessageRejected == mad.MessageOther {
		what = "the connection"
	}
	text := fmt.Sprintf("%s is rejected with reason %d: %s", what, r.Reason, why)
	if more := rejectMeanings[r.Reason]; more != "" {
		text += " (" + more + ")"
	}
	a.note(CMRejected, Error, text, frames...)
}

// ari returns the additional reject information of r as a text that begins with a comma, or "" if
// the reason of r defines none.
func (a *Analyzer) ari(r *mad.REJ) string {
	switch {
	case r.Reason == mad.RejectInvalidGID && len(r.ARI) == 16:
		return ", use " + netip.AddrFrom16([16]byte(r.ARI)).Unmap().String()
	case r.Reason == mad.RejectInvalidMTU && len(r.ARI) == 1 && r.ARI[0] >= 1 && r.ARI[0] <= 5:
		return fmt.Sprintf(", use %d bytes", 128<<r.ARI[0])
	}
	return ""
}

// rejectMeanings explains common reject reasons.
var rejectMeanings = map[mad.RejectReason]string{
	mad.RejectInvalidServiceID: "no listener at this port",
	mad.RejectStaleConn:        "the peer uses the queue pair in another connection, or it is still in timewait",
	mad.RejectConsumerDefined:  "the program, or Linux on behalf of it, refused; its private data may say why",
	mad.RejectTimeout:          "timeout waiting for a response",
	mad.RejectInvalidGID:       "the address is not local to the receiver, or it has no route to the sender",
}

// unanswered notes the first message of each end that has no response when the connection ends.
func (a *Analyzer) unanswered(c *conn) {
	for i := range c.dir {
		q := &c.dir[i].works
		for j := q.done; j < q.n; j++ {
			if w := q.get(j); !w.over {
				a.note(Unanswered, Warning,
					fmt.Sprintf("the connection ends before the %s of frame %d was answered", w.m.Verb, w.m.Frames[0]),
					w.m.Frames[0], a.p.Number)
				break
			}
		}
	}
}
