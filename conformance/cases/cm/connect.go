package cm

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// request sends a REQ for a new queue pair of the tester, which change may change, and returns
// both.
func request(s *conformance.Service, change func(m *cmsg.MAD)) (*conformance.Conn, *cmsg.MAD) {
	c := s.NewConn()
	m := s.REQ(c.Local)
	if change != nil {
		change(m)
	}
	s.Send(m)
	return c, m
}

// connects fails the case unless a REQ that change has changed is accepted, and the connection
// works.
func connects(s *conformance.Service, why string, change func(m *cmsg.MAD)) *conformance.Conn {
	c, _ := request(s, change)
	rep := s.Expect(cmsg.REP, why)
	s.Attach(c, rep)
	s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
	return c
}

// data fails the case unless the device acknowledges a SEND.
func data(c *conformance.Conn, why string) {
	c.Send(c.Message(make([]byte, 8)))
	if r := c.Expect(conformance.AckFrom(c.PSN)); r == nil {
		return
	}
	c.PSN = c.PSN.Add(1)
}

// repeatTime is longer than the time after which any device repeats a REP whose response timeout is
// 67 ms: gorxe waits for at least 0.5 s.
const repeatTime = 900 * time.Millisecond

// connect are the rules of connecting.
var connect = []conformance.Case{
	{
		ID: "cm/1", Level: conformance.Shall, Program: conformance.CMServer,
		Rule: "A REQ for a service with a listener is answered with a REP that has its transaction and communication ID, " +
			"from queue pair 1 to queue pair 1 with Q_Key 0x80010000.",
		Source: "IBA 12.6.8; Linux ib_mad.h, IB_QP1_QKEY",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			c, req := request(s, nil)
			rep := s.Expect(cmsg.REP, "a REQ")
			s.Attach(c, rep)
			p := rep.Packet
			switch {
			case rep.Get(cmsg.TID) != req.Get(cmsg.TID):
				t.Fail("the transaction ID of the REP is 0x%x, that of the REQ 0x%x", rep.Get(cmsg.TID),
					req.Get(cmsg.TID))
			case p.DETH.QKey != cmsg.QKey || p.DETH.SrcQP != bth.GSI:
				t.Fail("the REP has Q_Key 0x%x and source queue pair %d", p.DETH.QKey, p.DETH.SrcQP)
			case p.PKey&0x7fff != 0x7fff:
				t.Fail("the REP has P_Key 0x%x, the REQ had 0xffff", p.PKey)
			case p.Opcode != bth.UDSendOnly:
				t.Fail("the REP is a %v", p.Opcode)
			case rep.Get(cmsg.BaseVersion) != 1 || rep.Get(cmsg.Status) != 0:
				t.Fail("the REP has base version %d and status %d", rep.Get(cmsg.BaseVersion), rep.Get(cmsg.Status))
			case rep.Get(cmsg.REPQPN) < 2:
				t.Fail("the REP names queue pair %d", rep.Get(cmsg.REPQPN))
			}
			s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
			data(c, "an RTU")
		},
	},
	{
		ID: "cm/2", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A message to queue pair 1 with a Q_Key other than 0x80010000 is dropped.",
		Source: "IBA 9.6.1.4; Linux rxe_recv.c, check_keys",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			c := s.NewConn()
			p := s.Packet(s.REQ(c.Local))
			p.DETH.QKey = 0x11111111
			s.SendPacket(p)
			s.Quiet("a REQ with a wrong Q_Key")
			connects(s, "a correct REQ after one with a wrong Q_Key", nil)
		},
	},
	{
		ID: "cm/3", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "The LIDs, the service level and the packet rate of a REQ are ignored.",
		Source: "IBA CA17-34, CA17-36",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			data(connects(s, "a REQ with other LIDs", func(m *cmsg.MAD) {
				m.Set(cmsg.REQLocalLID, 0)
				m.Set(cmsg.REQRemoteLID, 0x1234)
				m.Set(cmsg.REQSL, 7)
				m.Set(cmsg.REQRate, 2)
			}), "a REP")
		},
	},
	{
		ID: "cm/4", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REQ is never rejected with reason 13 or 19 (invalid LID).",
		Source: "IBA CA17-35",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			request(s, func(m *cmsg.MAD) {
				m.Set(cmsg.REQLocalLID, 0xc123)
				m.Set(cmsg.REQRemoteLID, 0xffff)
				copy(m[alternate:alternate+44], m[primary:primary+44])
				m.Set(cmsg.REQAltLocalLID, 0xc234)
			})
			m := s.Next(t.Timeout())
			switch {
			case m == nil:
				t.Unclear("a REQ with an alternate path is not answered; others accept it without the path, or " +
					"reject it")
			case m.Attribute() == cmsg.REJ && (m.Get(cmsg.REJReason) == 13 || m.Get(cmsg.REJReason) == 19):
				t.Fail("a REQ with an alternate path is rejected: %s", m.Describe())
			}
			connects(s, "a REQ after one with an alternate path", nil)
		},
	},
	{
		ID: "cm/5", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A second copy of a REQ makes no second connection: the answer, if any, is the same REP.",
		Source: "IBA 12 (REQ received after the REP was sent); Linux cm.c, cm_dup_req_handler",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			c, req := request(s, nil)
			rep := s.Expect(cmsg.REP, "a REQ")
			s.Attach(c, rep)
			s.Send(req)
			for end := time.Now().Add(t.Silence()); ; {
				m := s.Next(time.Until(end))
				if m == nil {
					break
				}
				if m.Attribute() == cmsg.REP && m.MAD != rep.MAD {
					t.Fail("the second copy was answered with another REP: communication ID 0x%x and QP 0x%x, then 0x%x and 0x%x",
						rep.Get(cmsg.LocalID), rep.Get(cmsg.REPQPN), m.Get(cmsg.LocalID), m.Get(cmsg.REPQPN))
				}
				if m.Attribute() == cmsg.REJ {
					t.Fail("the second copy was rejected: %s", m.Describe())
				}
			}
			s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
			data(c, "an RTU")
		},
	},
	{
		ID: "cm/6", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "If the RTU is lost, data of the peer is accepted.",
		Source: "IBA 12 (communication established)",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			c, _ := request(s, nil)
			rep := s.Expect(cmsg.REP, "a REQ")
			s.Attach(c, rep)
			data(c, "a REP without an RTU")
			s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
		},
	},
	{
		ID: "cm/7", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REP that is not answered is sent again unchanged; an RTU ends that.",
		Source: "IBA 12 (timeout after the REP was sent)",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			at := time.Now()
			c, _ := request(s, func(m *cmsg.MAD) { m.Set(cmsg.REQLocalTime, 13) })
			rep := s.Expect(cmsg.REP, "a REQ")
			s.Attach(c, rep)
			again := s.Expect(cmsg.REP, "a REP without an answer")
			t.Sample("REP repeated after", "ms", float64(again.Packet.At.Sub(at).Microseconds())/1000)
			if again.MAD != rep.MAD {
				t.Fail("the REP differs when it is repeated")
			}
			s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
			data(c, "the RTU")
			s.Forget()
			s.Quiet("an RTU")
		},
	},
	{
		ID: "cm/8", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A second copy of an RTU is ignored.",
		Source: "IBA 12 (established)",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			c, _ := request(s, nil)
			rep := s.Expect(cmsg.REP, "a REQ")
			s.Attach(c, rep)
			for range 3 {
				s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
			}
			s.Quiet("a second copy of an RTU")
			data(c, "three RTUs")
		},
	},
	{
		ID: "cm/9", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "After an MRA for a REP, the REP is not sent again before the service timeout of the MRA has passed.",
		Source: "IBA 12.6.6 (MRA); Linux cm.c, cm_mra_handler",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			c, _ := request(s, func(m *cmsg.MAD) { m.Set(cmsg.REQLocalTime, 14) })
			rep := s.Expect(cmsg.REP, "a REQ")
			s.Attach(c, rep)
			mra := conformance.Answer(&rep.MAD, cmsg.MRA)
			mra.Set(cmsg.MRAMessage, 1)
			mra.Set(cmsg.MRATime, 19) // 2.15 s
			s.Send(mra)
			for end := time.Now().Add(max(t.Silence(), repeatTime)); ; {
				m := s.Next(time.Until(end))
				if m == nil {
					break
				}
				if m.Attribute() == cmsg.REP {
					t.Fail("the REP is sent again although an MRA extends its time by 2.15 s")
				}
			}
			s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
			data(c, "the RTU")
		},
	},
	{
		ID: "cm/10", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "The initiator depth of a REP is not larger than the responder resources of the REQ.",
		Source: "IBA 12 (Initiator Depth)",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			for _, n := range []uint64{0, 1, 3} {
				c, _ := request(s, func(m *cmsg.MAD) { m.Set(cmsg.REQResources, n) })
				m := s.Next(t.Timeout())
				switch {
				case m == nil:
					t.Fail("a REQ with responder resources %d is not answered", n)
				case m.Attribute() == cmsg.REJ:
					t.Note("rejected: %s", m.Describe())
					continue
				case m.Attribute() != cmsg.REP:
					t.Inconclusive("came %s", m.Describe())
				case m.Get(cmsg.REPDepth) > n:
					t.Fail("the REP has initiator depth %d, the REQ had responder resources %d",
						m.Get(cmsg.REPDepth), n)
				}
				s.Attach(c, m)
				s.Send(conformance.Answer(&m.MAD, cmsg.RTU))
			}
		},
	},
	{
		ID: "cm/11", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REQ with the VendorID of another maker (ECE) is accepted; the REP has the same VendorID, or none.",
		Source: "rdma-core librdmacm/cma.c (ECE); Linux cm.c",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			const vendor = 0x00c0de
			c, _ := request(s, func(m *cmsg.MAD) {
				m.Set(cmsg.REQVendor, vendor)
				m.Set(cmsg.AttrModifier, 0x5a5a5a5a)
			})
			rep := s.Expect(cmsg.REP, "a REQ with a VendorID")
			s.Attach(c, rep)
			v := rep.Get(cmsg.REPVendorHigh)<<16 | rep.Get(cmsg.REPVendorMid)<<8 | rep.Get(cmsg.REPVendorLow)
			if v != 0 && v != vendor {
				t.Fail("the REP has VendorID 0x%x, the REQ had 0x%x", v, vendor)
			}
			s.Send(conformance.Answer(&rep.MAD, cmsg.RTU))
			data(c, "an RTU")
		},
	},
	{
		ID: "cm/12", Level: conformance.Shall, Program: conformance.RPing,
		Rule:   "A peer that restarts can connect again: a connection that the device still has from before does not prevent it.",
		Source: "IBA 12.4.1, 12.9.8.3.1 (stale connection)",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect() // the connection that the peer loses
			data(connects(s, "a REQ of a peer that has restarted", func(m *cmsg.MAD) {
				m.Set(cmsg.REQGUID, m.Get(cmsg.REQGUID)+1)
			}), "a REP")
		},
	},
}

// Byte offsets of the paths in a REQ, 44 bytes each.
const (
	primary   = 24 + 52
	alternate = 24 + 96
)
