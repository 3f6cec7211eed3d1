package cm

import (
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// end are the rules of disconnecting.
var end = []conformance.Case{
	{
		ID: "cm/13", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A DREQ is answered with a DREP that has its transaction and communication IDs.",
		Source: "IBA 12.6.10, 12.6.11",
		Run:    func(t *conformance.T) { disconnected(t) },
	},
	{
		ID: "cm/14", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A second copy of a DREQ, whose DREP was lost, is answered again.",
		Source: "IBA 12 (timewait: DREQ received)",
		Run: func(t *conformance.T) {
			s := t.Service()
			c := s.Connect()
			data(c, "an RTU")
			dreq := c.DREQ()
			for range 3 {
				s.Send(dreq)
				drep(t, s, dreq, "a copy of a DREQ")
			}
		},
	},
	{
		ID: "cm/15", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A DREQ for a connection that does not exist is answered with a DREP.",
		Source: "IBA 12 (idle: DREQ received); Linux cm.c, cm_issue_drep",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			dreq := cmsg.New(cmsg.DREQ, 0x77aa55)
			dreq.Set(cmsg.LocalID, uint64(s.NewID()))
			dreq.Set(cmsg.RemoteID, 0x12345679)
			dreq.Set(cmsg.DREQQPN, 0x777777)
			s.Send(dreq)
			drep(t, s, dreq, "a DREQ for no connection")
		},
	},
	{
		ID: "cm/16", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A DREQ that names another queue pair does not end the connection.",
		Source: "IBA 12.6.10; Linux cm.c, cm_dreq_handler",
		Run: func(t *conformance.T) {
			s := t.Service()
			c := s.Connect()
			dreq := c.DREQ()
			dreq.Set(cmsg.DREQQPN, uint64(c.Target.QPN)^0x55)
			s.Send(dreq)
			for m := s.Next(t.Silence()); m != nil; m = s.Next(t.Silence()) {
				t.Note("%s came", m.Describe())
			}
			data(c, "a DREQ for another queue pair")
		},
	},
	{
		ID: "cm/17", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "A REJ for a REP ends the connection: the REP is not sent again.",
		Source: "IBA 12.6.7 (REJ)",
		Run: func(t *conformance.T) {
			s := t.Service()
			s.Connect()
			_, _ = request(s, func(m *cmsg.MAD) { m.Set(cmsg.REQLocalTime, 13) })
			rep := s.Expect(cmsg.REP, "a REQ")
			rej := conformance.Answer(&rep.MAD, cmsg.REJ)
			rej.Set(cmsg.REJMessage, 1)
			rej.Set(cmsg.REJReason, 28)
			s.Send(rej)
			// The program may disconnect, but the REP must not be sent again.
			for end := time.Now().Add(max(3*t.Silence(), repeatTime)); ; {
				m := s.Next(time.Until(end))
				if m == nil {
					break
				}
				switch m.Attribute() {
				case cmsg.DREQ:
					s.Send(conformance.Answer(&m.MAD, cmsg.DREP))
				case cmsg.REP:
					t.Fail("the REP is sent again after it was rejected")
				}
			}
		},
	},
	{
		ID: "cm/18", Level: conformance.Shall, Program: conformance.CMServer,
		Rule:   "RTU, DREP, MRA and REJ for a connection that does not exist are not answered.",
		Source: "IBA 12 (idle)",
		Run: func(t *conformance.T) {
			s := t.Service()
			c := s.Connect()
			for _, a := range []cmsg.Attribute{cmsg.RTU, cmsg.DREP, cmsg.MRA, cmsg.REJ} {
				m := cmsg.New(a, 0x4444)
				m.Set(cmsg.LocalID, uint64(s.NewID()))
				m.Set(cmsg.RemoteID, 0x23456781)
				if a == cmsg.REJ {
					m.Set(cmsg.REJReason, 28)
				}
				s.Send(m)
			}
			s.Quiet("a message for no connection")
			data(c, "messages for no connection")
		},
	},
	{
		ID: "cm/19", Level: conformance.Observed, Program: conformance.CMServer,
		Rule:   "A REP for a request that was not made is rejected, or dropped.",
		Source: "IBA 12 (idle: REP received); Linux cm.c, cm_rep_handler",
		Run: func(t *conformance.T) {
			s := t.Service()
			c := s.Connect()
			m := cmsg.New(cmsg.REP, 0x4445)
			m.Set(cmsg.LocalID, uint64(s.NewID()))
			m.Set(cmsg.RemoteID, 0x23456783)
			m.Set(cmsg.REPQPN, 0x4567)
			s.Send(m)
			if r := s.Next(t.Silence()); r != nil {
				t.Observe("it is answered with %s", r.Describe())
			} else {
				t.Observe("it is dropped")
			}
			data(c, "a REP for no request")
		},
	},
	{
		ID: "cm/20", Level: conformance.Shall, Program: conformance.CMServer,
		Rule: "A REQ for a queue pair that is connected already makes no second connection; it is rejected as stale, at the " +
			"latest when it is repeated.",
		Source: "IBA 12.9.8.3.1 (stale connection); Linux cm.c, cm_match_req",
		Run: func(t *conformance.T) {
			s := t.Service()
			c := s.Connect()
			req := s.REQ(c.Local)
			for range 5 {
				s.Send(req)
				m := s.Next(t.Silence())
				for m != nil && m.Attribute() == cmsg.DREQ && m.Get(cmsg.DREQQPN) != uint64(c.Local.QPN) {
					// A probe whether the peer still has the connection: a DREQ for another
					// queue pair, which a peer that has the connection drops.
					m = s.Next(t.Silence())
				}
				switch {
				case m == nil:
				case m.Attribute() == cmsg.REP:
					t.Fail("a second connection of the queue pair is accepted")
				case m.Attribute() == cmsg.REJ && m.Get(cmsg.REJReason) == 10:
					return
				case m.Attribute() == cmsg.DREQ:
					t.Note("the device ends the old connection")
				default:
					t.Unclear("answered with %s; Linux rejects it with reason 10 (stale connection)", m.Describe())
				}
			}
			t.Unclear("it is dropped; Linux rejects it with reason 10 (stale connection)")
		},
	},
	{
		ID: "cm/36", Level: conformance.Should, Program: conformance.CMServer,
		Rule:   "After a DREP, the connection ends: requests on it are answered no longer than the timeout.",
		Source: "IBA 12.9 (timewait); Linux cma.c, rdma_disconnect",
		Run:    afterDREP,
	},
}

// disconnected returns a connection for which a DREQ got its DREP.
func disconnected(t *conformance.T) *conformance.Conn {
	s := t.Service()
	c := s.Connect()
	data(c, "an RTU")
	dreq := c.DREQ()
	s.Send(dreq)
	drep(t, s, dreq, "a DREQ")
	return c
}

// afterDREP is the script of a connection that the tester uses after its end.
func afterDREP(t *conformance.T) {
	c := disconnected(t)
	answered := 0
	for end := time.Now().Add(t.Timeout()); ; answered++ {
		c.Send(c.Message(make([]byte, 8)))
		r := c.Response(t.Silence())
		switch {
		case r == nil && answered > 0:
			t.Observe("%d SENDs after the DREP were answered before the program had disconnected", answered)
			return
		case r == nil:
			return
		case time.Now().After(end):
			t.Fail("%v after the DREP, a SEND is still answered: %s", t.Timeout(), conformance.Describe(r))
		case conformance.AckFrom(c.PSN).Is(r):
			c.PSN = c.PSN.Add(1)
		}
		t.Sleep(disconnectInterval)
	}
}

// disconnectInterval is the time between two requests after a DREP. A connection manager may send
// the DREP before the program has moved the queue pair to the error state.
const disconnectInterval = 10 * time.Millisecond

// drep expects the DREP for a DREQ. A DREQ of the device, whose program ends its connection too,
// may come before.
func drep(t *conformance.T, s *conformance.Service, dreq *cmsg.MAD, why string) {
	again := true // like each MAD, a DREQ may get lost in a busy device
	for {
		m := s.Next(t.Timeout())
		switch {
		case m == nil && again:
			again = false
			s.Send(dreq)
			continue
		case m == nil:
			t.Fail("%s and its repetition are not answered within %v each", why, t.Timeout())
		case m.Attribute() == cmsg.DREQ, m.Attribute() == cmsg.DREP && m.Get(cmsg.TID) != dreq.Get(cmsg.TID):
			continue
		case m.Attribute() != cmsg.DREP:
			t.Fail("%s is answered with %s", why, m.Describe())
		case m.Get(cmsg.RemoteID) != dreq.Get(cmsg.LocalID) || m.Get(cmsg.LocalID) != dreq.Get(cmsg.RemoteID):
			t.Fail("the DREP has the communication IDs 0x%x and 0x%x, the DREQ 0x%x and 0x%x", m.Get(cmsg.LocalID),
				m.Get(cmsg.RemoteID), dreq.Get(cmsg.LocalID), dreq.Get(cmsg.RemoteID))
		}
		return
	}
}
