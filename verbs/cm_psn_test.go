package verbs_test

import (
	"sync"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// psns are the PSN in an end's messages and the PSN of its first request.
type psns struct{ named, used verbs.PSN }

// The PSN in a REQ or a REP is the first one that its receiver sends, as in rxe.
func TestEitherEndBeginsWithThePSNThatThePeerNamed(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	var mu sync.Mutex
	var seen [2]psns
	for i := range cfg {
		cfg[i].Wrap = func(l packet.Link) packet.Link {
			return packet.Tap(l, func(d packet.Direction, f packet.TapFrame) {
				var p bth.Packet
				if d != packet.Outgoing || p.Decode(f.Data) != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				var m mad.Message
				switch {
				case p.Opcode == bth.RCWriteOnly:
					seen[i].used = p.PSN
				case p.Opcode != bth.UDSendOnly || m.Decode(p.Payload) != nil:
				case m.Attribute == mad.AttrREQ:
					seen[i].named = m.REQ.StartingPSN
				case m.Attribute == mad.AttrREP:
					seen[i].named = m.REP.StartingPSN
				}
			})
		}
	}
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	verbstest.ConnectByCM(t, a, b)
	for _, n := range [][2]*verbstest.Node{{a, b}, {b, a}} {
		if err := n[0].QP.PostSend(n[0].OneSided(verbs.WRWrite, n[1], 64)); err != nil {
			t.Fatal(err)
		}
		n[0].Wait(1, make([]verbs.WC, 1))
	}
	mu.Lock()
	defer mu.Unlock()
	if seen[0].used != seen[1].named || seen[1].used != seen[0].named {
		t.Errorf("REQ names %#x and REP %#x; the client begins with %#x, the server with %#x", seen[0].named,
			seen[1].named, seen[0].used, seen[1].used)
	}
}
