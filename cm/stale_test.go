package cm

import (
	"github.com/gorxe/gorxe/cm/mad"
	"testing"
)

// Only an answer with the probe's transaction ID, within the probe time, ends a connection.
func TestOnlyTheAnswerToAProbeEndsAConnection(t *testing.T) {
	for name, c := range map[string]struct {
		later Time
		tid   func(probe uint64) uint64
		ends  bool
	}{
		"the answer":         {0, func(probe uint64) uint64 { return probe }, true},
		"at the last moment": {probeTime - 1, func(probe uint64) uint64 { return probe }, true},
		"too late":           {probeTime, func(probe uint64) uint64 { return probe }, false},
		"of another":         {0, func(probe uint64) uint64 { return probe + 2 }, false},
		"of none":            {0, func(uint64) uint64 { return 0 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := runScript(t, Config{}, lives[StateEstablished])
			conn := s.m.conns[our(1)]
			deliver := func(m mad.Message) {
				var b [mad.Len]byte
				if err := m.Encode(&b); err != nil {
					t.Fatal(err)
				}
				s.m.Receive(s.now, peerNamed("A"), b[:])
			}
			req := mad.Message{Attribute: mad.AttrREQ, TransactionID: 7, REQ: mad.REQ{
				LocalCommID: 0x99, ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 9), LocalCAGUID: 0x77, LocalQPN: 0x33,
			}}
			deliver(req)
			first := conn.probe
			if deliver(req); conn.probe != first || first>>32 == 0 {
				t.Fatalf("the probes are %#x and %#x", first, conn.probe)
			}
			s.now += c.later
			deliver(mad.Message{Attribute: mad.AttrDREP, TransactionID: c.tid(first),
				DREP: mad.DREP{LocalCommID: 0x22, RemoteCommID: our(1)}})
			if ended := conn.state == StateTimewait; ended != c.ends {
				t.Errorf("the connection is in %v", conn.state)
			}
			if conn.state == StateEstablished && c.later > 0 {
				if deliver(req); conn.probe == first {
					t.Error("a later probe is the same")
				}
			}
		})
	}
}
