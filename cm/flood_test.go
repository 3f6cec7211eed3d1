package cm

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// A REQ with the address of a third party, and with the maximum number of retries, causes at most
// six messages to that host, none longer than the REQ, whatever the program does.
func TestAForgedREQDrawsSixMessagesAtMost(t *testing.T) {
	const hosts, of = 50, 20
	for _, tt := range []struct {
		name   string
		act    func(m *Manager, now Time, id mad.CommID) error
		repeat int  // number of copies of each REQ
		apart  Time // time between them
		later  Time // delay of the program's second call
		then   func(m *Manager, now Time, id mad.CommID) error
		most   int  // maximum number of messages per REQ
		open   int  // half-open connections of a host, 0 is the default
		step   Time // time between the REQs of a host
	}{
		{"accepted", accept, 1, 0, 0, nil, 6, 0, 0},
		{"accepted, repeated at once", accept, 3, 0, 0, nil, 6, 0, 0},
		{"accepted, repeated now and then", accept, 8, 20e9, 0, nil, 6, 0, 0},
		{"accepted and given up", accept, 1, 0, 24e9, (*Manager).Cancel, 6, 0, 0},
		{"accepted and disconnected", accept, 1, 0, 24e9, disconnect, 6, 0, 0},
		{"accepted and displaced at once", accept, 1, 0, 0, nil, 6, 5, 0},
		{"accepted and displaced at once, repeated", accept, 3, 0, 0, nil, 6, 5, 0},
		{"accepted and displaced after the last REP", accept, 1, 0, 0, nil, 6, 5, 15e9},
		{"refused", func(m *Manager, _ Time, id mad.CommID) error {
			return m.Reject(id, mad.RejectConsumerDefined, nil, nil)
		}, 1, 0, 0, nil, 1, 0, 0},
		{"not answered", func(*Manager, Time, mad.CommID) error { return nil }, 3, 20e9, 0, nil, 1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(Config{CAGUID: ourGUID, MaxHalfOpenPeer: tt.open})
			if _, err := m.Listen(mad.IPServiceID(mad.PortSpaceTCP, 7), AnyGID, 10*hosts*of); err != nil {
				t.Fatal(err)
			}
			now, sent := Time(0), 0
			drain := func() {
				for o := (Outgoing{}); m.NextSend(&o); {
					sent++
				}
			}
			until := func(end Time) {
				for at, ok := m.NextTimeout(); ok && at <= end; at, ok = m.NextTimeout() {
					now = max(now, at)
					m.Timeout(now)
					drain()
				}
				now = end
			}
			var ids []mad.CommID
			forged := 0
			for range tt.repeat {
				for i := range hosts * of {
					var b [mad.Len]byte
					req := mad.Message{Attribute: mad.AttrREQ, REQ: mad.REQ{
						LocalCommID: mad.CommID(i + 1), ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7),
						LocalCAGUID: 0x77, LocalQPN: bth.QPN(i + 16),
						LocalCMResponseTimeout: 20, MaxCMRetries: 15, Primary: mad.Path{LocalACKTimeout: 17},
					}}
					if err := req.Encode(&b); err != nil {
						t.Fatal(err)
					}
					m.Receive(now, Peer{GID: qp.GID{15: byte(i % hosts)}}, b[:])
					forged++
					for e := (Event{}); m.NextEvent(&e); {
						if e.Kind == Requested {
							ids = append(ids, e.ID)
							if err := tt.act(m, now, e.ID); err != nil {
								t.Fatal(err)
							}
						}
					}
					drain()
					if tt.step > 0 && i%hosts == hosts-1 {
						until(now + tt.step)
					}
				}
				until(now + tt.apart)
			}
			if tt.then != nil {
				until(now + tt.later)
				for _, id := range ids {
					if err := tt.then(m, now, id); err != nil {
						t.Fatal(err)
					}
				}
			}
			drain()
			until(now + 1000e9)
			if m.Len() != ([numStates]int{}) {
				t.Errorf("left over: %v", m.Len())
			}
			if sent > tt.most*forged || sent < forged/2 {
				t.Errorf("%d messages of %d bytes for %d REQs: %.2f for each, %d is the bound", sent, mad.Len, forged,
					float64(sent)/float64(forged), tt.most)
			}
		})
	}
}

func accept(m *Manager, now Time, id mad.CommID) error {
	return m.Accept(now, id, &mad.REP{LocalQPN: 0x11})
}

func disconnect(m *Manager, now Time, id mad.CommID) error { return m.Disconnect(now, id, nil) }

// A flood of REQs with a victim's address displaces the victim's own connection only if more of
// them than the limit are accepted between its REP and its RTU: see makeRoom. Before and after
// that the victim can connect.
func TestAFloodUnderAnAddressKeepsItsOwnerOutOnlyAboveARate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		trip    Time // from REP to RTU
		rate    int  // forged REQs per second
		waiting int  // requests that wait for the program
		in      bool
	}{
		{"1 ms, 100,000 a second", 1e6, 100_000, 0, true},
		{"100 ms, 8,900 a second", 100e6, 8_900, 128, true},
		{"100 ms, 9,100 a second", 100e6, 9_100, 128, false},
		{"100 ms, 10,100 a second, and a program that answers at once", 100e6, 10_100, 0, true},
		{"100 ms, 10,400 a second, likewise", 100e6, 10_400, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(Config{CAGUID: ourGUID})
			if _, err := m.Listen(mad.IPServiceID(mad.PortSpaceTCP, 7), AnyGID, tt.waiting+2); err != nil {
				t.Fatal(err)
			}
			const mine, start = mad.CommID(0xffffffff), Time(200e6)
			victim := peerNamed("A")
			deliver := func(now Time, msg *mad.Message) Verdict {
				var b [mad.Len]byte
				if err := msg.Encode(&b); err != nil {
					t.Fatal(err)
				}
				return m.Receive(now, victim, b[:])
			}
			req := func(id mad.CommID) *mad.Message {
				return &mad.Message{Attribute: mad.AttrREQ, REQ: mad.REQ{
					LocalCommID: id, ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7), LocalCAGUID: 0x77, LocalQPN: 0x33,
					LocalCMResponseTimeout: 20, MaxCMRetries: 15, Primary: mad.Path{LocalACKTimeout: 17},
				}}
			}
			var queue []mad.CommID
			var rtu Time
			var conn mad.CommID
			ended := false
			each := Time(1e9) / Time(tt.rate)
			for now, i := Time(0), mad.CommID(1); rtu == 0 || now < rtu; now, i = now+each, i+1 {
				if now > 50*start {
					t.Fatal("the victim's REQ finds no room")
				}
				m.Timeout(now)
				if v := deliver(now, req(i)); v != VerdictTaken {
					t.Fatalf("a REQ of the flood is %v", v)
				}
				// The victim repeats its REQ until it is accepted.
				if conn == 0 && now >= start {
					deliver(now, req(mine))
				}
				for e := (Event{}); m.NextEvent(&e); {
					switch e.Kind {
					case Requested:
						queue = append(queue, e.ID)
						if e.REQ.LocalCommID == mine {
							conn = e.ID
						}
					case Unreachable:
						ended = ended || e.ID == conn && conn != 0
					}
				}
				for len(queue) > tt.waiting {
					if err := m.Accept(now, queue[0], &mad.REP{LocalQPN: 0x11}); err != nil {
						t.Fatal(err)
					}
					if queue[0] == conn {
						rtu = now + tt.trip
					}
					queue = queue[1:]
				}
				for o := (Outgoing{}); m.NextSend(&o); {
				}
			}
			if ended == tt.in {
				t.Fatalf("displaced: %v", ended)
			}
			deliver(rtu, &mad.Message{Attribute: mad.AttrRTU, RTU: mad.RTU{LocalCommID: mine, RemoteCommID: conn}})
			if c := m.conns[conn]; tt.in && (c == nil || c.state != StateEstablished) {
				t.Errorf("the victim's connection is %+v", c)
			}
			// The flood does not displace established connections.
			for i := range mad.CommID(3000) {
				deliver(rtu, req(mine-1-i))
			}
			if c := m.conns[conn]; tt.in && c.state != StateEstablished {
				t.Errorf("the victim's connection is in %v", c.state)
			}
			if err := m.invariants(); err != nil {
				t.Error(err)
			}
		})
	}
}
