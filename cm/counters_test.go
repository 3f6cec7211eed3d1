package cm

import (
	"maps"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

func TestEverythingThatArrivesIsCountedByMessageAndVerdict(t *testing.T) {
	s := runScript(t, Config{}, `
		listen 7
		< REQ 0x22
		event REQUESTED #1 qpn=0x33
		accept #1
		> A REP #1 0x22
		advance 1.21s
		> A REP #1 0x22
		< RTU 0x22 #1
		event ESTABLISHED #1
		< RTU 0x22 #1
		< DREQ 0x22 #1
		> A DREP #1 0x22
		event DISCONNECTED #1 DREQ`)
	if v := s.m.Receive(s.now, peerNamed("A"), make([]byte, mad.Len)); v != VerdictMalformed {
		t.Errorf("a MAD of zeros is %v", v)
	}
	s.m.Receive(s.now, peerNamed("A"), nil)
	s.m.Counters().CountBadAddress((&mad.IPHeader{}).CheckSender(peerNamed("A").GID))
	got := *s.m.Counters()
	want := Counters{Forgotten: 0}
	want.Received[iREQ], want.Received[iRTU], want.Received[iDREQ] = 1, 2, 1
	want.Duplicates[iRTU] = 1
	want.Sent[iREP], want.Sent[iDREP], want.Retries[iREP] = 2, 1, 1
	want.Verdicts[VerdictTaken], want.Verdicts[VerdictDuplicate], want.Verdicts[VerdictMalformed] = 3, 1, 2
	want.Malformed[mad.ReasonBaseVersion], want.Malformed[mad.ReasonLength],
		want.Malformed[mad.ReasonIPSender] = 1, 1, 1
	if got != want {
		t.Errorf("counted %+v, not %+v", got, want)
	}
	if n := s.m.Len(); n[StateTimewait] != 1 || n[StateEstablished] != 0 {
		t.Errorf("connections by state: %v", n)
	}
	named := map[string]uint64{}
	got.Each(func(name string, v uint64) {
		if _, twice := named[name]; twice {
			t.Errorf("%s comes twice", name)
		}
		if v > 0 {
			named[name] = v
		}
	})
	wantNamed := map[string]uint64{
		"cm_rx_msgs_req": 1, "cm_rx_msgs_rtu": 2, "cm_rx_msgs_dreq": 1, "cm_rx_duplicates_rtu": 1,
		"cm_tx_msgs_rep": 2, "cm_tx_msgs_drep": 1, "cm_tx_retries_rep": 1,
		"cm_verdict_taken": 3, "cm_verdict_duplicate": 1, "cm_verdict_malformed": 2,
		"cm_malformed_base_version": 1, "cm_malformed_mad_length": 1, "cm_malformed_ip_sender": 1,
	}
	if !maps.Equal(named, wantNamed) {
		t.Errorf("by name: %v, not %v", named, wantNamed)
	}
}

func TestQueuesGiveBackTheMemoryOfABurst(t *testing.T) {
	var q queue[int]
	for i := range 10 * maxSpare {
		q.put(i)
	}
	var v int
	for i := range 10 * maxSpare {
		if !q.take(&v) || v != i {
			t.Fatalf("item %d is %d", i, v)
		}
	}
	if q.take(&v) || cap(q.items) > maxSpare {
		t.Errorf("an empty queue holds on to memory for %d items", cap(q.items))
	}
}

func TestARequestThatNoProgramCouldAcceptIsRefusedAndNotKept(t *testing.T) {
	peer, local := qp.GID{15: 1}, qp.GID{15: 2}
	for _, tt := range []struct {
		name      string
		change    func(*mad.REQ)
		index     uint8
		verdict   Verdict
		reason    mad.RejectReason
		malformed uint64
	}{
		{"a good one", func(*mad.REQ) {}, 0, VerdictTaken, 0, 0},
		{"one that nobody listens for", func(r *mad.REQ) {
			r.ServiceID, r.PathMTU = mad.IPServiceID(mad.PortSpaceTCP, 8), 0
		}, 0, VerdictNoListener, mad.RejectInvalidServiceID, 0},
		{"a queue pair elsewhere", func(r *mad.REQ) { r.Primary.LocalGID[0] = 1 }, 0, VerdictRefused,
			mad.RejectUnsupported, 1},
		{"more than the link carries", func(r *mad.REQ) { r.PathMTU = 5 }, 0, VerdictRefused, mad.RejectInvalidMTU, 0},
		{"an entry of the GID table that has gone", func(*mad.REQ) {}, 1, VerdictRefused, mad.RejectInvalidGID, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := New(Config{CAGUID: ourGUID,
				Local: func(i uint8) (qp.GID, qp.MTU, bool) { return local, 2048, i == 0 }})
			if _, err := m.Listen(mad.IPServiceID(mad.PortSpaceTCP, 7), AnyGID, 1); err != nil {
				t.Fatal(err)
			}
			msg := mad.Message{Attribute: mad.AttrREQ, TransactionID: 9, REQ: mad.REQ{
				LocalCommID: 0x22, PKey: 0xffff, PathMTU: 3, ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7),
				Primary: mad.Path{LocalGID: peer, RemoteGID: local},
			}}
			tt.change(&msg.REQ)
			var b [mad.Len]byte
			if err := msg.Encode(&b); err != nil {
				t.Fatal(err)
			}
			if v := m.Receive(0, Peer{GID: peer, SGIDIndex: tt.index}, b[:]); v != tt.verdict {
				t.Fatalf("the verdict is %v", v)
			}
			if n := m.counters.Malformed[mad.ReasonIPSender]; n != tt.malformed {
				t.Errorf("%d senders are counted as not to be believed", n)
			}
			var o Outgoing
			var answer mad.Message
			switch sent := m.NextSend(&o); {
			case sent != (tt.reason != 0):
				t.Fatalf("a message was sent: %v", sent)
			case !sent:
				return
			}
			if err := answer.Decode(o.MAD[:]); err != nil {
				t.Fatal(err)
			}
			r := &answer.REJ
			if answer.Attribute != mad.AttrREJ || answer.TransactionID != 9 || r.RemoteCommID != 0x22 ||
				r.LocalCommID != 0 || r.Reason != tt.reason {
				t.Errorf("the answer is %+v", answer)
			}
			if m.Len() != ([numStates]int{}) || m.HalfOpen() != 0 || m.Events() != 0 {
				t.Errorf("%v are kept, %d half-open, %d events", m.Len(), m.HalfOpen(), m.Events())
			}
		})
	}
}

func TestAllConnectionsAreDescribed(t *testing.T) {
	s := runScript(t, Config{}, `
		listen 7
		connect retries=5
		> A REQ #1
		advance 1.21s
		> A REQ #1
		< REQ 0x22 source=0x1234
		event REQUESTED #2 qpn=0x33
		accept #2
		> A REP #2 0x22
		< RTU 0x22 #2
		event ESTABLISHED #2`)
	got := slices.SortedFunc(s.m.All(), func(a, b ConnInfo) int { return int(a.Since - b.Since) })
	service := mad.IPServiceID(mad.PortSpaceTCP, 7)
	want := []ConnInfo{
		{ID: our(1), State: StateREQSent, Peer: peerNamed("A"), QPN: 0x11, Active: true, Service: service,
			RetriesLeft: 4},
		{ID: our(2), RemoteID: 0x22, State: StateEstablished, Since: 1210e6, Peer: peerNamed("A"), QPN: 0x11,
			PeerQPN: 0x33, Service: service, SourcePort: 0x1234},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, not %+v", got, want)
	}
	for range s.m.All() {
		break
	}
}
