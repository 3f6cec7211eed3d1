package trace

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace/internal/overlay"
)

// exchanges are the CM exchanges, indexed by the communication IDs of both sides.
type exchanges map[commKey]*exchange

type commKey struct {
	addr netip.Addr      // host that assigned the ID
	net  overlay.Network // of the host
	id   mad.CommID
}

// exchange is what the capture shows of the CM messages of one connection.
type exchange struct {
	c     *conn
	keys  []commKey                                  // keys of the exchange in exchanges
	qpn   bth.QPN                                    // queue pair of the active side
	times [int(mad.AttrAPR-mad.AttrREQ) + 1]sighting // by attribute, from AttrREQ
	rep   bool                                       // REP was seen: both queue pairs are known
}

// sighting is the latest message of an attribute.
type sighting struct {
	count int // number of messages of the attribute so far
	frame int
	at    time.Time
	src   netip.Addr
}

func (x *exchanges) put(key commKey, e *exchange) {
	if *x == nil {
		*x = exchanges{}
	}
	if (*x)[key] != e {
		(*x)[key] = e
		e.keys = append(e.keys, key)
	}
}

// forget removes the exchange of c, if it has one.
func (x exchanges) forget(c *conn) {
	if c.cm == nil {
		return
	}
	for _, k := range c.cm.keys {
		if x[k] == c.cm {
			delete(x, k)
		}
	}
}

// managed processes a CM message.
func (a *Analyzer) managed() {
	p := a.p
	p.Role = CM
	e := a.exchangeOf(p.MAD)
	if e == nil {
		c, _ := a.between(p.BTH.DETH.SrcQP)
		p.Flow = c.Flow
		if p.MAD.Attribute == mad.AttrSIDRREQ {
			a.resolves(c, p.MAD.SIDRREQ.RequestID)
		}
		a.sayMAD(nil)
		return
	}
	a.table.touch(e.c)
	p.Flow = e.c.Flow
	a.countTransmission(e)
	switch m := p.MAD; m.Attribute {
	case mad.AttrREP:
		a.replied(e)
	case mad.AttrRTU:
		if e.c.CM.SetupTime == 0 && !e.c.CM.Requested.IsZero() {
			e.c.CM.SetupTime = elapsed(e.c.CM.Requested, p.Time)
		}
	case mad.AttrREJ:
		a.rejected(e)
	case mad.AttrDREQ:
		a.unanswered(e.c)
	case mad.AttrDREP:
		e.c.CM.Ended = true
	}
	a.sayMAD(e)
}

// exchangeOf returns the exchange that the current CM message m belongs to, a new one if necessary.
// It returns nil for messages without an exchange.
func (a *Analyzer) exchangeOf(m *mad.Message) *exchange {
	src, dst := a.p.Src.Addr(), a.p.Dst.Addr()
	local, remote := ids(m)
	switch m.Attribute {
	case mad.AttrREQ:
		if e := a.cms[commKey{src, a.net, local}]; e != nil && e.qpn == m.REQ.LocalQPN && !e.c.CM.Ended {
			return e
		}
		return a.asked(&m.REQ)
	case mad.AttrSIDRREQ, mad.AttrSIDRREP, mad.AttrLAP, mad.AttrAPR:
		return nil
	}
	if e := a.cms[commKey{dst, a.net, remote}]; e != nil && remote != 0 {
		return e
	}
	if e := a.cms[commKey{src, a.net, local}]; e != nil && local != 0 {
		return e
	}
	switch m.Attribute {
	case mad.AttrREP:
		return a.repliedUnasked(&m.REP)
	case mad.AttrDREQ:
		key := directionKey{src: src, dst: dst, to: m.DREQ.RemoteQPN, net: a.net}
		if h := a.table.find(key); h != nil && h.conn.cm == nil {
			e := a.exchange(h.conn)
			e.rep = true
			a.cms.put(commKey{src, a.net, local}, e)
			a.cms.put(commKey{dst, a.net, remote}, e)
			return e
		}
	}
	return nil
}

// ids returns the communication IDs in m: the sender's and the receiver's. 0 means that m has none.
func ids(m *mad.Message) (local, remote mad.CommID) {
	switch m.Attribute {
	case mad.AttrREQ:
		return m.REQ.LocalCommID, 0
	case mad.AttrMRA:
		return m.MRA.LocalCommID, m.MRA.RemoteCommID
	case mad.AttrREJ:
		return m.REJ.LocalCommID, m.REJ.RemoteCommID
	case mad.AttrREP:
		return m.REP.LocalCommID, m.REP.RemoteCommID
	case mad.AttrRTU:
		return m.RTU.LocalCommID, m.RTU.RemoteCommID
	case mad.AttrDREQ:
		return m.DREQ.LocalCommID, m.DREQ.RemoteCommID
	case mad.AttrDREP:
		return m.DREP.LocalCommID, m.DREP.RemoteCommID
	}
	return 0, 0
}

// exchange returns a new exchange for c.
func (a *Analyzer) exchange(c *conn) *exchange {
	e := &exchange{c: c}
	c.cm = e
	if c.CM == nil {
		c.CM = &Managed{}
	}
	return e
}

// asked creates the exchange and the flow of a REQ.
func (a *Analyzer) asked(r *mad.REQ) *exchange {
	p := a.p
	src, dst := p.Src.Addr(), p.Dst.Addr()
	service := bth.ServiceRC
	if r.TransportService == mad.TransportUC {
		service = bth.ServiceUC
	}
	if old := a.cms[commKey{src, a.net, r.LocalCommID}]; old != nil {
		a.cms.forget(old.c)
	}
	c := a.table.add(service, p)
	c.Ends = [2]End{{Addr: src, QPN: r.LocalQPN}, {Addr: dst}}
	if r.PathMTU >= 1 && r.PathMTU <= 5 {
		c.MTU, c.MTUExact = 128<<r.PathMTU, true
	}
	e := a.exchange(c)
	e.qpn = r.LocalQPN
	_, port, _ := r.ServiceID.IP()
	*c.CM = Managed{ServiceID: uint64(r.ServiceID), Port: port, Requested: p.Time}
	a.learnUpper(c, r)
	a.cms.put(commKey{src, a.net, r.LocalCommID}, e)
	a.know(c, directionKey{src: dst, dst: src, to: r.LocalQPN, net: a.net}, 1, r.StartingPSN)
	return e
}

// know adds the direction key to c, which end from sends and whose first PSN is psn. While the
// other direction is unknown, it can be found by a CM message or by pair.
func (a *Analyzer) know(c *conn, key directionKey, from int, psn bth.PSN) {
	h := a.table.attach(key, c, from)
	h.service = c.Service
	st := c.side(from)
	st.start(psn)
	st.exact, st.whole = true, true
	if c.Ends[0].QPN == 0 || c.Ends[1].QPN == 0 {
		a.table.removeUnpaired(h)
		a.table.addUnpaired(h)
		return
	}
	for _, h := range c.directions {
		a.table.setPaired(h)
	}
}

// repliedUnasked creates the exchange and the flow of a REP whose REQ is not in the capture.
func (a *Analyzer) repliedUnasked(r *mad.REP) *exchange {
	p := a.p
	c := a.table.add(bth.ServiceRC, p)
	c.Ends = [2]End{{Addr: p.Dst.Addr()}, {Addr: p.Src.Addr()}}
	e := a.exchange(c)
	a.cms.put(commKey{p.Dst.Addr(), a.net, r.RemoteCommID}, e)
	return e
}

// replied processes a REP, which tells the passive side's queue pair and its first PSN.
func (a *Analyzer) replied(e *exchange) {
	p, r, c := a.p, &a.p.MAD.REP, e.c
	if e.rep || p.Src.Addr() != c.Ends[1].Addr {
		return
	}
	e.rep = true
	a.cms.put(commKey{p.Src.Addr(), a.net, r.LocalCommID}, e)
	if len(c.directions) > 1 {
		return // packets sent before the REP already identified the other direction
	}
	c.Ends[1].QPN = r.LocalQPN
	a.know(c, directionKey{src: c.Ends[0].Addr, dst: c.Ends[1].Addr, to: r.LocalQPN, net: a.net}, 0, r.StartingPSN)
}
