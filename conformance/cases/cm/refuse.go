package cm

import (
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// refuse are the rules for requests that are not accepted, and for malformed messages.
var refuse = []conformance.Case{
	{
		ID: "cm/21", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REQ for a service without a listener is rejected with reason 8.",
		Source: "IBA 12.6.7.2 (invalid service ID); Linux cm.c, cm_req_handler",
		Run: refusedREQ("a REQ for a service without a listener", func(s *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.REQService, s.ID^0x8000)
		}, "", 8),
	},
	{
		ID: "cm/22", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REQ whose remote GID is not one of the device is rejected with reason 12.",
		Source: "IBA 12.6.7.2 (primary remote port GID rejected); Linux cm.c, cm_req_handler",
		Run: refusedREQ("a REQ for another GID", func(_ *conformance.Service, m *cmsg.MAD) {
			m.SetGID(cmsg.REQRemoteGID, netip.MustParseAddr("203.0.113.9"))
		}, "", 12),
	},
	{
		ID: "cm/23", Level: conformance.Should, Program: conformance.CMServer,
		Rule:   "A REQ with a P_Key that the device does not have is rejected.",
		Source: "IBA 12.6.7.2; Linux cm.c, cm_init_av_by_path",
		Run: refusedREQ("a REQ with P_Key 0x1234", func(_ *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.REQPKey, 0x1234)
		}, "", 12, 28, 5),
	},
	{
		ID: "cm/24", Level: conformance.Should, Program: conformance.CMServer,
		Rule:   "A REQ with a path MTU that does not exist is rejected with reason 26.",
		Source: "IBA 12.6.7.2 (invalid path MTU)",
		Run: refusedREQ("a REQ with path MTU 0", func(_ *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.REQMTU, 0)
		}, "Linux leaves it to the queue pair, whose transition fails", 26),
	},
	{
		ID: "cm/25", Level: conformance.Should, Program: conformance.CMServer,
		Rule:   "A REQ for the transport service RD is rejected with reason 9.",
		Source: "IBA 12.6.7.2 (invalid transport service type)",
		Run: refusedREQ("a REQ for RD", func(_ *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.REQTransport, 2)
		}, "Linux rejects with another reason or takes the type of the listener", 9),
	},
	{
		ID: "cm/26", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REQ with a header of rdma_cm of a version that does not exist is not accepted.",
		Source: "IBA annex A11; Linux cma.c, cma_save_net_info",
		Run: refusedREQ("a REQ with version 1 of the IP header", func(_ *conformance.Service, m *cmsg.MAD) {
			m[cmsg.REQPrivate] = 1
		}, "", 28, 8, 5, silent),
	},
	{
		ID: "cm/27", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REQ with a header of rdma_cm for IP version 5 is not accepted.",
		Source: "IBA annex A11; Linux cma.c, cma_save_net_info",
		Run: refusedREQ("a REQ with IP version 5", func(_ *conformance.Service, m *cmsg.MAD) {
			m[cmsg.REQPrivate+1] = 0x50
		}, "", 28, 8, 5, silent),
	},
	{
		ID: "cm/28", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A message with another class version is not executed.",
		Source: "IBA 13.4.3 (ClassVersion); 12.6.7.2 (reason 31)",
		Run: refusedREQ("a REQ with class version 3", func(_ *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.ClassVersion, 3)
		}, "", silent, 31),
	},
	{
		ID: "cm/29", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A message with a base version other than 1 is not executed.",
		Source: "IBA 13.4.3 (BaseVersion)",
		Run: refusedREQ("a REQ with base version 2", func(_ *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.BaseVersion, 2)
		}, "", silent, 31),
	},
	{
		ID: "cm/30", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A message with a method other than Send is not executed.",
		Source: "IBA 16.7 (methods)",
		Run: refusedREQ("a REQ with the method Set", func(_ *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.Method, 2)
		}, "", silent),
	},
	{
		ID: "cm/31", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A message with an attribute that does not exist is not answered.",
		Source: "IBA 16.7 (attributes)",
		Run: refusedREQ("a message with attribute 0x30", func(_ *conformance.Service, m *cmsg.MAD) {
			m.Set(cmsg.AttrID, 0x30)
		}, "", silent),
	},
	{
		ID: "cm/32", Level: conformance.Should, Program: conformance.CMServer,
		Rule:   "A message that is shorter than 256 bytes is dropped.",
		Source: "IBA 13 (a MAD has 256 bytes); Linux does not look at the length",
		Run:    misshapen(func(b []byte) []byte { return b[:200] }),
	},
	{
		ID: "cm/33", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A message of a few bytes is dropped.",
		Source: "IBA 13 (a MAD has 256 bytes)",
		Run:    misshapen(func(b []byte) []byte { return b[:4] }),
	},
	{
		ID: "cm/34", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A SIDR_REQ for a service without a listener gets a SIDR_REP with a status other than 0.",
		Source: "IBA 12.11.2",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			id := s.NewID()
			m := cmsg.New(cmsg.SIDRREQ, 0x51d4)
			m.Set(cmsg.LocalID, uint64(id))
			m.Set(cmsg.SIDRPKey, 0xffff)
			m.Set(cmsg.SIDRService, cmsg.UDP.Service(s.Target.Port^0x4000))
			copy(m[cmsg.SIDRPrivate:], cmsg.AppendIPHeader(nil, t.Link().Local(), s.Target.Addr, 40001))
			s.Send(m)
			rep := s.Expect(cmsg.SIDRREP, "a SIDR_REQ")
			switch {
			case rep.Get(cmsg.TID) != m.Get(cmsg.TID):
				t.Fail("the transaction ID of the SIDR_REP is 0x%x, that of the SIDR_REQ 0x%x", rep.Get(cmsg.TID),
					m.Get(cmsg.TID))
			case rep.Get(cmsg.SIDRStatus) == 0:
				t.Fail("the SIDR_REP has status 0 and queue pair 0x%x", rep.Get(cmsg.SIDRQPN))
			}
		},
	},
	{
		ID: "cm/37", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REJ of a REQ has the transaction ID of the REQ and says that it is a REQ that is rejected.",
		Source: "IBA 12.6.7 (message REJected); Linux cm.c, cm_issue_rej",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			_, req := request(s, func(m *cmsg.MAD) { m.Set(cmsg.REQService, s.ID^0x8000) })
			rej := s.Expect(cmsg.REJ, "a REQ for a service without a listener")
			switch {
			case rej.Get(cmsg.TID) != req.Get(cmsg.TID):
				t.Fail("the transaction ID of the REJ is 0x%x, that of the REQ 0x%x", rej.Get(cmsg.TID),
					req.Get(cmsg.TID))
			case rej.Get(cmsg.REJMessage) != 0:
				t.Fail("the REJ of a REQ has %d in the field MessageRejected instead of 0", rej.Get(cmsg.REJMessage))
			}
		},
	},
	{
		ID: "cm/35", Level: conformance.Observed, Program: conformance.CMServer,
		Rule:   "A LAP (alternate path) is refused in some way, and the connection stays.",
		Source: "IBA 12.8.1, 12.8.2; CA17-37",
		Run: func(t *conformance.T) {
			s := t.Service()
			c := s.Connect()
			rep := c.DREQ() // its communication IDs
			m := cmsg.New(cmsg.LAP, 0x1a9)
			m.Set(cmsg.LocalID, rep.Get(cmsg.LocalID))
			m.Set(cmsg.RemoteID, rep.Get(cmsg.RemoteID))
			s.Send(m)
			if r := s.Next(t.Silence()); r != nil {
				t.Observe("it is answered with %s", r.Describe())
			} else {
				t.Observe("it is not answered")
			}
			data(c, "a LAP")
		},
	},
}

// silent stands for silence among the reasons of refusedREQ.
const silent = 0

// refusedREQ returns the script of a REQ that must not be accepted. The first reason is the right
// one, the others are accepted too. others, if it is not empty, says what respected
// implementations do instead.
func refusedREQ(why string, change func(s *conformance.Service, m *cmsg.MAD), others string,
	reasons ...uint64) func(*conformance.T) {
	return func(t *conformance.T) {
		s := t.Service()
		s.Connect()
		c, _ := request(s, func(m *cmsg.MAD) { change(s, m) })
		wait := t.Timeout()
		if slices.Contains(reasons, silent) {
			wait = t.Silence()
		}
		m := s.Reply(wait)
		if others != "" {
			t.Lenient(others)
		}
		got := uint64(silent)
		switch {
		case m != nil && m.Attribute() == cmsg.REP:
			s.Attach(c, m)
			t.Fail("%s is accepted", why)
		case m != nil && m.Attribute() != cmsg.REJ:
			t.Fail("%s is answered with %s", why, m.Describe())
		case m != nil:
			got = m.Get(cmsg.REJReason)
		}
		if slices.Contains(reasons, got) {
			t.Lenient("")
			connects(s, "a correct REQ after "+why, nil)
			return
		}
		if m == nil {
			t.Fail("%s is not answered; REJ with reason %d (%s) was expected", why, reasons[0], cmsg.Reason(reasons[0]))
		}
		t.Fail("%s is answered with %s; reason %d (%s) was expected", why, m.Describe(), reasons[0],
			cmsg.Reason(reasons[0]))
	}
}

// misshapen returns the script of a REQ whose payload has another length.
func misshapen(change func(b []byte) []byte) func(*conformance.T) {
	return func(t *conformance.T) {
		s := t.Service()
		s.Connect()
		c := s.NewConn()
		p := s.Packet(s.REQ(c.Local))
		p.Payload = change(p.Payload)
		s.SendPacket(p)
		s.Quiet("a message of another length")
		connects(s, "a correct REQ after a message of another length", nil)
	}
}
