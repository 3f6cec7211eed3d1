package mad_test

import (
	"bytes"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
)

// FuzzDecode checks that Encode reproduces what Decode accepts, except reserved bits, and that
// each rejection has a reason and an explanation. It does the same for the private data of a REQ
// or a SIDR_REQ with the IP header.
func FuzzDecode(f *testing.F) {
	for _, g := range append(readGolden(f, "testdata/rxe.txt"), readGolden(f, "testdata/peer.txt")...) {
		f.Add(g.mad)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m mad.Message
		if err := m.Decode(b); err != nil {
			reason := mad.ReasonOf(err)
			if reason == mad.ReasonNone || reason >= mad.ReasonIPLength {
				t.Fatalf("refused for reason %s", reason)
			}
			if mad.Explain(b) == nil {
				t.Fatalf("no explanation of %s", reason)
			}
			return
		}
		switch m.Attribute {
		case mad.AttrLAP, mad.AttrAPR:
			return
		case mad.AttrREQ:
			checkIPHeader(t, m.REQ.PrivateData)
		case mad.AttrSIDRREQ:
			checkIPHeader(t, m.SIDRREQ.PrivateData)
		}
		var got [mad.Len]byte
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
	var h mad.IPHeader
	consumer, err := h.Decode(private)
	if err != nil {
		if reason := mad.ReasonOf(err); reason < mad.ReasonIPLength || int(reason) >= mad.NumReasons {
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
