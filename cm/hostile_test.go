package cm

import (
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// FuzzManager sends arbitrary messages to a manager that has connections in every state, with a
// program that answers some of them. Each message is 4 bytes that select preceding actions, then
// the start of a MAD.
func FuzzManager(f *testing.F) {
	asked := New(Config{}).transaction(our(1))
	for _, seed := range []mad.Message{
		{Attribute: mad.AttrREQ, REQ: mad.REQ{LocalCommID: 9, ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7),
			LocalQPN: 1, LocalCAGUID: 1}},
		{Attribute: mad.AttrREP, TransactionID: asked,
			REP: mad.REP{LocalCommID: 9, RemoteCommID: our(1), LocalQPN: 2, LocalCAGUID: 1}},
		{Attribute: mad.AttrDREQ, DREQ: mad.DREQ{LocalCommID: 0x22, RemoteCommID: our(2), RemoteQPN: 0x11}},
		{Attribute: mad.AttrSIDRREQ,
			SIDRREQ: mad.SIDRREQ{RequestID: 4, ServiceID: mad.IPServiceID(mad.PortSpaceUDP, 7)}},
		{Attribute: mad.AttrMRA, TransactionID: asked,
			MRA: mad.MRA{LocalCommID: 9, RemoteCommID: our(1), ServiceTimeout: 31}},
		{Attribute: mad.AttrREJ, TransactionID: asked,
			REJ: mad.REJ{RemoteCommID: our(1), Reason: mad.RejectTimeout, ARI: make([]byte, 8)}},
	} {
		var b [mad.Len]byte
		if err := seed.Encode(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(append([]byte{1, 1, 200, 0}, b[:]...))
		f.Add(append(append([]byte{0, 0, 0, 1}, b[:]...), append([]byte{2, 0, 3, 1}, b[:]...)...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := runScript(t, Config{MaxHalfOpen: 5, MaxHalfOpenPeer: 3, MaxTimewait: 2, MaxTimewaitPeer: 1}, `
			listen 7 backlog=3
			listen 7 udp
			connect
			> A REQ #1
			< REQ 0x22
			event REQUESTED #2 qpn=0x33
			accept #2
			> A REP #2 0x22
			< RTU 0x22 #2
			event ESTABLISHED #2
			connect
			> A REQ #3
			< REP 0x23 #3 qpn=0x34
			event REPLIED #3 qpn=0x34
			resolve
			> A SIDR_REQ #4`)
		m, now := s.m, s.now
		for len(data) >= 4 {
			do := data[:4]
			data = data[4:]
			n := min(len(data), mad.Len)
			var b [mad.Len]byte
			copy(b[:], data[:n])
			data = data[n:]
			now += Time(do[0]) * 100e6
			m.Timeout(now)
			m.Receive(now, Peer{SGIDIndex: do[1] & 1, GID: qp.GID{15: 'A' + do[1]>>7}}, b[:])
			for ev := (Event{}); m.NextEvent(&ev); {
				// The program answers at random; an error means that it is too late.
				switch {
				case do[2]&1 == 0:
				case ev.Kind == Requested && do[2]&2 == 0:
					_ = m.Accept(now, ev.ID, &mad.REP{LocalQPN: 0x11})
				case ev.Kind == Replied && do[2]&2 == 0:
					_ = m.Established(now, ev.ID, nil)
				case ev.Kind == Requested || ev.Kind == Replied:
					_ = m.Reject(ev.ID, mad.RejectConsumerDefined, nil, nil)
				case ev.Kind == SIDRRequested:
					_ = m.Answer(now, ev.ID, &mad.SIDRREP{})
				case ev.Kind == Established:
					_ = m.Disconnect(now, ev.ID, nil)
				}
			}
			for o := (Outgoing{}); m.NextSend(&o); {
				var msg mad.Message
				if err := msg.Decode(o.MAD[:]); err != nil {
					t.Fatal(err)
				}
			}
			if m.half.count > 5 || m.timewait.n > 2 {
				t.Fatalf("%d half-open, %d resting: more than the bounds", m.half.count, m.timewait.n)
			}
			if err := m.invariants(); err != nil {
				t.Fatal(err)
			}
		}
		m.Timeout(now + 1<<40)
		for range 40 {
			if at, ok := m.NextTimeout(); ok {
				m.Timeout(at)
			}
		}
		if err := m.invariants(); err != nil {
			t.Fatal(err)
		}
	})
}
