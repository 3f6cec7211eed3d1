package cm

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
)

// A REQ that names a third party as its sender, and asks for as many retries as there are, has
// that host sent six messages at most, none longer than the REQ, whatever the program does.
func TestAForgedREQDrawsSixMessagesAtMost(t *testing.T) {
	const hosts, of = 50, 20
	for _, tt := range []struct {
		name   string
		act    func(m *Manager, now Time, id CommID) error
		repeat int  // how often each REQ comes
		apart  Time // between them
		later  Time // the program's second thoughts
		then   func(m *Manager, now Time, id CommID) error
		most   int // messages for a REQ
	}{
		{"accepted", accept, 1, 0, 0, nil, 6},
		{"accepted, repeated at once", accept, 3, 0, 0, nil, 6},
		{"accepted, repeated now and then", accept, 8, 20e9, 0, nil, 6},
		{"accepted and given up", accept, 1, 0, 24e9, (*Manager).Cancel, 6},
		{"accepted and disconnected", accept, 1, 0, 24e9, disconnect, 6},
		{"refused", func(m *Manager, _ Time, id CommID) error { return m.Reject(id, RejectConsumerDefined, nil, nil) }, 1, 0, 0, nil, 1},
		{"not answered", func(*Manager, Time, CommID) error { return nil }, 3, 20e9, 0, nil, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(Config{CAGUID: ourGUID})
			if _, err := m.Listen(IPServiceID(PortSpaceTCP, 7), AnyGID, 10*hosts*of); err != nil {
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
			var ids []CommID
			forged := 0
			for range tt.repeat {
				for i := range hosts * of {
					var b [MADLen]byte
					req := MAD{Attribute: AttrREQ, REQ: REQ{
						LocalCommID: CommID(i + 1), ServiceID: IPServiceID(PortSpaceTCP, 7), LocalCAGUID: 0x77, LocalQPN: bth.QPN(i + 16),
						LocalCMResponseTimeout: 20, MaxCMRetries: 15, Primary: Path{LocalACKTimeout: 17},
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
				t.Errorf("%d messages of %d bytes for %d REQs: %.2f for each, %d is the bound", sent, MADLen, forged, float64(sent)/float64(forged), tt.most)
			}
		})
	}
}

func accept(m *Manager, now Time, id CommID) error { return m.Accept(now, id, &REP{LocalQPN: 0x11}) }

func disconnect(m *Manager, now Time, id CommID) error { return m.Disconnect(now, id, nil) }
