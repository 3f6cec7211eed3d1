package cm_test

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/cm"
)

// FuzzDecode: whatever Decode accepts, Encode gives back but for reserved bits;
// whatever it refuses has a reason and an explanation. The private data of a REQ
// or a SIDR_REQ goes the same way through the IP header.
func FuzzDecode(f *testing.F) {
	for _, g := range append(readGolden(f, "testdata/rxe.txt"), readGolden(f, "testdata/peer.txt")...) {
		f.Add(g.mad)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m cm.MAD
		if err := m.Decode(b); err != nil {
			reason := cm.ReasonOf(err)
			if reason == cm.ReasonNone || reason >= cm.ReasonIPLength {
				t.Fatalf("refused for reason %s", reason)
			}
			if cm.Explain(b) == nil {
				t.Fatalf("no explanation of %s", reason)
			}
			return
		}
		switch m.Attribute {
		case cm.AttrLAP, cm.AttrAPR:
			return
		case cm.AttrREQ:
			checkIPHeader(t, m.REQ.PrivateData)
		case cm.AttrSIDRREQ:
			checkIPHeader(t, m.SIDRREQ.PrivateData)
		}
		var got [cm.MADLen]byte
		if err := m.Encode(&got); err != nil {
			t.Fatalf("%s: %v", m.Attribute, err)
		}
		if want := withoutReserved(b); !bytes.Equal(got[:], want) {
			t.Fatalf("%s: Encode(Decode(b))\n got %x\nwant %x", m.Attribute, got, want)
		}
	})
}

// FuzzIPHeader does the same for private data of any length.
func FuzzIPHeader(f *testing.F) {
	for _, tt := range ipHeaders {
		f.Add(unhex(f, tt.wire))
	}
	f.Fuzz(checkIPHeader)
}

func checkIPHeader(t *testing.T, private []byte) {
	var h cm.IPHeader
	consumer, err := h.Decode(private)
	if err != nil {
		if reason := cm.ReasonOf(err); reason < cm.ReasonIPLength || int(reason) >= cm.NumReasons {
			t.Fatalf("refused for reason %s", reason)
		}
		return
	}
	want := bytes.Clone(private)
	want[1] &= 0xf0
	if h.Source.Is4() {
		clear(want[4:16])
		clear(want[20:32])
	}
	got, err := h.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got = append(got, consumer...); !bytes.Equal(got, want) {
		t.Fatalf("Append(Decode(b))\n got %x\nwant %x", got, want)
	}
	if err := h.Check(); err == nil && (h.Source.IsMulticast() || h.Source.IsLoopback() || h.Source.IsUnspecified()) {
		t.Fatalf("source %v passes", h.Source)
	}
}
