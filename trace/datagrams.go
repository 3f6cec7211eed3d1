package trace

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// datagram processes a UD packet, which is a complete message without a response.
func (a *Analyzer) datagram() {
	p := a.p
	p.Role = Datagram
	c, from := a.between(p.BTH.DETH.SrcQP)
	p.Flow = c.Flow
	a.countActive(c)
	a.marked(c, from)
	c.Messages++
	a.delivered(c, a.size)
	m := &Message{
		Number: int(c.Messages), Flow: c.Flow, From: from,
		Verb: verb(a.info), Op: a.info.Op, First: p.BTH.PSN, Last: p.BTH.PSN,
		Bytes: uint64(a.size), Packets: 1, Begin: p.Time, Frames: [2]int{p.Number, p.Number},
	}
	p.Message = m
	l := &a.line
	l.message(m).text(" of ").int(a.size).text(" bytes, a datagram from QP ").qpn(p.BTH.DETH.SrcQP).text(" to ")
	if p.BTH.DestQP == bth.MulticastQPN {
		l.text("the members of a multicast group")
	} else {
		l.text("QP ").qpn(p.BTH.DestQP)
	}
	if a.info.Headers&bth.HasImmDt != 0 {
		l.text(", immediate ").hex(uint64(p.BTH.Imm))
	}
	a.sayMarked()
	if a.o.Message != nil {
		a.o.Message(m)
	}
}

// between returns the flow of datagrams between two queue pairs: number by at the current packet's
// source, and its destination queue pair. from is the end that sent the packet.
func (a *Analyzer) between(by bth.QPN) (c *conn, from int) {
	p := a.p
	key := directionKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP, by: by | datagramMark, net: a.net}
	h := a.table.find(key)
	if h == nil {
		back := directionKey{src: key.dst, dst: key.src, to: by, by: key.to | datagramMark, net: a.net}
		if o := a.table.find(back); o != nil {
			h = a.table.attach(key, o.conn, 1-o.from)
		} else {
			c := a.table.add(bth.ServiceUD, p)
			c.Ends = [2]End{{Addr: key.src, QPN: by}, {Addr: key.dst, QPN: key.to}}
			h = a.table.attach(key, c, 0)
		}
		h.service, h.paired, h.pairing = bth.ServiceUD, true, nil
	}
	a.table.touch(h.conn)
	return h.conn, h.from
}

// datagramMark distinguishes datagrams from queue pair 0 from packets of a connection in
// directionKey.by.
const datagramMark bth.QPN = 1 << 24

// A congested switch marks packets with ECN Congestion Experienced (RFC 3168), and their receiver
// answers with CNPs (IBA A17.9). Both come by the hundred, so only the first in each direction of a
// flow is a finding; Flow.CE and Flow.CNPs count all.

// marked handles the ECN field of the current packet, which end from of c sent.
func (a *Analyzer) marked(c *conn, from int) {
	p := a.p
	if !p.IP.CE() {
		return
	}
	c.CE++
	if c.ce[from] == 0 {
		a.note(ECNMarked, Warning, "a switch marked this packet because of its queue length (ECN Congestion Experienced); the receiver should send a CNP; further marks in this direction are counted only", p.Number)
	}
	c.ce[from] = p.Number
}

// sayMarked appends the mark of the current packet.
func (a *Analyzer) sayMarked() {
	if a.p.IP.CE() {
		a.line.text(", ECN CE")
	}
}

// notified processes a CNP: a switch marked packets of the CNP's destination queue pair.
func (a *Analyzer) notified() {
	p := a.p
	p.Role = CNP
	key := directionKey{src: p.Src.Addr(), dst: p.Dst.Addr(), to: p.BTH.DestQP, net: a.net}
	h := a.table.find(key)
	if h == nil {
		c := a.table.add(bth.ServiceCNP, p)
		c.Ends = [2]End{{Addr: key.src}, {Addr: key.dst, QPN: key.to}}
		h = a.table.attach(key, c, 0)
		h.service = bth.ServiceCNP
	}
	c := h.conn
	a.table.touch(c)
	p.Flow = c.Flow
	c.CNPs++
	if !c.notified[h.from] {
		c.notified[h.from] = true
		text, frames := "packets of QP 0x%06x experience congestion: the sender must reduce its rate", []int{p.Number}
		if ce := c.ce[1-h.from]; ce > 0 {
			text += fmt.Sprintf(" (frame %d was marked)", ce)
			frames = []int{ce, p.Number}
		}
		a.note(Congestion, Warning, fmt.Sprintf(text, uint32(p.BTH.DestQP)), frames...)
	}
	a.line.text("tells QP ").qpn(p.BTH.DestQP).text(" to reduce its rate: a switch marked its packets")
}
