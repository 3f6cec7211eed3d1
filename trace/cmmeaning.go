package trace

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace/ulp"
)

// sayMAD writes the meaning of a CM message. e is nil if its exchange is not known.
func (a *Analyzer) sayMAD(e *exchange) {
	l, m := &a.line, a.p.MAD
	if l.quiet {
		return
	}
	l.text(m.Attribute.String())
	if a.p.Again {
		l.text(", retransmitted")
	}
	switch m.Attribute {
	case mad.AttrREQ:
		r := &m.REQ
		l.text(": connection request to ").text(ServiceName(r.ServiceID)).text(" with QP ").qpn(r.LocalQPN)
		if r.PathMTU >= 1 && r.PathMTU <= 5 {
			l.text(", path MTU ").int(128 << r.PathMTU)
		}
		l.text(", expects PSN ").psn(r.StartingPSN).text(" first")
	case mad.AttrREP:
		l.text(": accepts with QP ").qpn(m.REP.LocalQPN).text(", expects PSN ").psn(m.REP.StartingPSN).text(" first")
	case mad.AttrRTU:
		l.text(": connection established")
		if e != nil && e.c.CM.SetupTime > 0 {
			l.text(", ").text(lasting(int64(e.c.CM.SetupTime))).text(" after the first REQ")
		}
	case mad.AttrREJ:
		l.text(": rejects ").text(m.REJ.MessageRejected.String()).
			text(", ").text(m.REJ.Reason.String()).text(a.ari(&m.REJ))
	case mad.AttrMRA:
		l.text(": has ").text(m.MRA.MessageMRAed.String()).text(", and needs more time to answer")
	case mad.AttrDREQ:
		l.text(": disconnect request for QP ").qpn(m.DREQ.RemoteQPN)
	case mad.AttrDREP:
		l.text(": disconnected")
	case mad.AttrSIDRREQ:
		l.text(": requests the datagram queue pair of ").text(ServiceName(m.SIDRREQ.ServiceID))
	case mad.AttrSIDRREP:
		r := &m.SIDRREP
		if r.Status == mad.SIDRSuccess {
			l.text(": ").text(ServiceName(r.ServiceID)).text(" has QP ").qpn(r.QPN).text(", Q_Key ").hex(uint64(r.QKey))
		} else {
			l.text(": ").text(r.Status.String())
		}
	}
	if e == nil && m.Attribute != mad.AttrSIDRREQ && m.Attribute != mad.AttrSIDRREP {
		l.text(" (connection not in the capture)")
	}
	a.sayUpper(e)
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

// resolves records the current SIDR_REQ. If the request ID is among the latest maxSIDRREQs of c, it
// marks the packet as retransmitted and adds the finding cm_retry.
func (a *Analyzer) resolves(c *conn, id mad.CommID) {
	p := a.p
	now := sidrREQ{id: id, sighting: sighting{frame: p.Number, at: p.Time, src: p.Src.Addr()}}
	for i := range c.sidrREQs {
		if s := &c.sidrREQs[i]; s.frame > 0 && s.id == id && s.src == now.src {
			p.Again = true
			c.Again++
			a.note(CMRetry, Warning,
				fmt.Sprintf("SIDR_REQ is retransmitted %s after frame %d: no response in that time",
					lasting(int64(elapsed(s.at, p.Time))), s.frame), s.frame, p.Number)
			s.sighting = now.sighting
			return
		}
	}
	if len(c.sidrREQs) < maxSIDRREQs {
		c.sidrREQs = append(c.sidrREQs, now)
	} else {
		c.sidrREQs[c.sidrCount%maxSIDRREQs] = now
	}
	c.sidrCount++
}

// maxSIDRREQs is the number of SIDR_REQs that are remembered per pair of hosts.
const maxSIDRREQs = 8

// sidrREQ is a remembered SIDR_REQ.
type sidrREQ struct {
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
		q := &c.seen(i).works
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

// learnUpper determines the upper-layer protocol of c from its REQ.
func (a *Analyzer) learnUpper(c *conn, r *mad.REQ) {
	if space, port, ok := r.ServiceID.IP(); ok && space == mad.PortSpaceTCP {
		a.setUpper(c, ulp.FromREQ(port, upperData(a.p.MAD), &a.uppers))
	}
}

// upperData returns the private data of a REQ, REP or REJ without the IP addresses of a REQ.
func upperData(m *mad.Message) []byte {
	switch m.Attribute {
	case mad.AttrREQ:
		var h mad.IPHeader
		if data, err := h.Decode(m.REQ.PrivateData); err == nil {
			return data
		}
	case mad.AttrREP:
		return m.REP.PrivateData
	case mad.AttrREJ:
		return m.REJ.PrivateData
	}
	return nil
}

// sayUpper appends the upper-layer protocol of a REQ, REP or REJ, and its private data.
func (a *Analyzer) sayUpper(e *exchange) {
	if e == nil || e.c.upper == nil || a.line.quiet {
		return
	}
	x := ulp.Request
	switch a.p.MAD.Attribute {
	case mad.AttrREQ:
	case mad.AttrREP:
		x = ulp.Reply
	case mad.AttrREJ:
		x = ulp.Reject
	default:
		return
	}
	var p ulp.PDU
	a.line.text("; ")
	if p.DecodePrivate(e.c.ULP, x, upperData(a.p.MAD)) != nil {
		a.line.text(e.c.ULP.String())
		return
	}
	a.line.b = p.Append(a.line.b)
}
