package trace

import (
	"github.com/gorxe/gorxe/cm/mad"
)

// sayMAD says what a message of the connection manager does. e is nil where its connection is not known.
func (a *Analyzer) sayMAD(e *exchange) {
	l, m := &a.line, a.p.MAD
	if l.quiet {
		return
	}
	l.s(m.Attribute.String())
	if a.p.Again {
		l.s(" again")
	}
	switch m.Attribute {
	case mad.AttrREQ:
		r := &m.REQ
		l.s(": asks for a connection to ").s(r.ServiceID.String()).s(" with QP ").qpn(r.LocalQPN)
		if r.PathMTU >= 1 && r.PathMTU <= 5 {
			l.s(", path MTU ").n(128 << r.PathMTU)
		}
		l.s(", expects PSN ").psn(r.StartingPSN).s(" first")
	case mad.AttrREP:
		l.s(": accepts with QP ").qpn(m.REP.LocalQPN).s(", expects PSN ").psn(m.REP.StartingPSN).s(" first")
	case mad.AttrRTU:
		l.s(": ready, the connection is there")
		if e != nil && e.c.Managed.Took > 0 {
			l.s(", ").s(lasting(int64(e.c.Managed.Took))).s(" after the first REQ")
		}
	case mad.AttrREJ:
		l.s(": rejects ").s(m.REJ.MessageRejected.String()).s(", ").s(m.REJ.Reason.String()).s(a.ari(&m.REJ))
	case mad.AttrMRA:
		l.s(": has ").s(m.MRA.MessageMRAed.String()).s(" and will take longer to answer it")
	case mad.AttrDREQ:
		l.s(": wants to end the connection of QP ").qpn(m.DREQ.RemoteQPN)
	case mad.AttrDREP:
		l.s(": the connection is over")
	case mad.AttrSIDRREQ:
		l.s(": asks for the datagram queue pair of ").s(m.SIDRREQ.ServiceID.String())
	case mad.AttrSIDRREP:
		r := &m.SIDRREP
		if r.Status == mad.SIDRSuccess {
			l.s(": ").s(r.ServiceID.String()).s(" has QP ").qpn(r.QPN).s(", Q_Key ").hex(uint64(r.QKey))
		} else {
			l.s(": ").s(r.Status.String())
		}
	}
	if e == nil && m.Attribute != mad.AttrSIDRREQ && m.Attribute != mad.AttrSIDRREP {
		l.s(" (of a connection that the capture does not show)")
	}
}
