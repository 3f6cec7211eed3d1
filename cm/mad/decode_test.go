package mad_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
)

// A rejected message is a valid RTU modified by change.
var hostile = []struct {
	name   string
	change func(b []byte) []byte
	reason mad.Reason
	says   string // addition of Explain
}{
	{"nothing", func([]byte) []byte { return nil }, mad.ReasonLength, "got 0"},
	{"a header alone", func(b []byte) []byte { return b[:mad.HeaderLen] }, mad.ReasonLength, "got 24"},
	{"one byte too few", func(b []byte) []byte { return b[:255] }, mad.ReasonLength, "got 255"},
	{"one byte too many", func(b []byte) []byte { return append(b, 0) }, mad.ReasonLength, "got 257"},
	{"base version 0", set(0, 0), mad.ReasonBaseVersion, "got 0"},
	{"base version 0x80, that of OPA", set(0, 0x80), mad.ReasonBaseVersion, "got 128"},
	{"class of the subnet manager", set(1, 1), mad.ReasonClass, "got 1"},
	{"class version 1", set(2, 1), mad.ReasonClassVersion, "got 1"},
	{"method Get", set(3, 1), mad.ReasonMethod, "got 0x01"},
	{"a response", set(3, 0x83), mad.ReasonMethod, "got 0x83"},
	{"ClassPortInfo", set(17, 1), mad.ReasonAttribute, "got 0x0001"},
	{"attribute below REQ", set(17, 0x0f), mad.ReasonAttribute, "got 0x000f"},
	{"attribute above APR", set(17, 0x1b), mad.ReasonAttribute, "got 0x001b"},
	{"attribute that is RTU in its low byte", set(16, 1), mad.ReasonAttribute, "got 0x0114"},
	{"REJ with 73 bytes of information", set(17, 0x12, mad.HeaderLen+9, 73<<1), mad.ReasonInfoLength, "a REJ with 73"},
	{"REJ with 127 bytes of information", set(17, 0x12, mad.HeaderLen+9, 0xff), mad.ReasonInfoLength, "a REJ with 127"},
	{"SIDR_REP with 73 bytes of information", set(17, 0x18, mad.HeaderLen+5, 73), mad.ReasonInfoLength,
		"a SIDR_REP with 73"},
	{"all ones", func([]byte) []byte { return bytes.Repeat([]byte{0xff}, mad.Len) }, mad.ReasonBaseVersion, "got 255"},
}

// set returns a change of some bytes, given as pairs of offset and value.
func set(pairs ...int) func([]byte) []byte {
	return func(b []byte) []byte {
		for i := 0; i < len(pairs); i += 2 {
			b[pairs[i]] = byte(pairs[i+1])
		}
		return b
	}
}

func goodRTU(t testing.TB) []byte { return wire(t, headerHex+"0014"+commIDsHex) }

func TestDecodeRefuses(t *testing.T) {
	seen := map[mad.Reason]bool{}
	for _, tt := range hostile {
		seen[tt.reason] = true
		t.Run(fmt.Sprintf("%s/%s", tt.reason, tt.name), func(t *testing.T) {
			b := tt.change(goodRTU(t))
			m := mad.Message{REJ: mad.REJ{ARI: []byte("stale")},
				SIDRREP: mad.SIDRREP{AdditionalInformation: []byte("stale")}}
			err := m.Decode(b[:len(b):len(b)])
			if got := mad.ReasonOf(err); got != tt.reason {
				t.Fatalf("Decode = %v, reason %s, want %s", err, got, tt.reason)
			}
			var decodeError *mad.DecodeError
			if !errors.As(err, &decodeError) || decodeError.Reason != tt.reason {
				t.Errorf("errors.As finds %v", decodeError)
			}
			explained := mad.Explain(b)
			if !errors.Is(explained, err) || !strings.HasSuffix(explained.Error(), ": "+tt.says) {
				t.Errorf("Explain = %q, want %q and %q", explained, err, tt.says)
			}
			if tt.reason != mad.ReasonLength && b[0] != 0xff && m.TransactionID != 0x0011223344556677 {
				t.Errorf("transaction ID not readable after %s: %#x", tt.reason, m.TransactionID)
			}
			if tt.reason == mad.ReasonInfoLength &&
				(m.Attribute == mad.AttrREJ && m.REJ.ARI != nil || m.Attribute == mad.AttrSIDRREP &&
					m.SIDRREP.AdditionalInformation != nil) {
				t.Errorf("information of an earlier message is left: %q, %q", m.REJ.ARI,
					m.SIDRREP.AdditionalInformation)
			}
		})
	}
	for r := mad.ReasonNone + 1; r < mad.ReasonIPLength; r++ {
		if !seen[r] {
			t.Errorf("no hostile message for reason %s", r)
		}
	}
}

func TestDecodeAccepts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func([]byte) []byte
	}{
		{"a good message", set()},
		{"a status, which Send does not have", set(4, 0xff, 5, 0xff, 6, 0xff, 7, 0xff)},
		{"path MTU 9, for the connection manager to reject", set(17, 0x10, mad.HeaderLen+50, 0x90)},
		{"REJ of an unknown reason", set(17, 0x12, mad.HeaderLen+10, 0xff)},
		{"REJ with 72 bytes of information", set(17, 0x12, mad.HeaderLen+9, 72<<1)},
		{"SIDR_REP with 72 bytes of information", set(17, 0x18, mad.HeaderLen+5, 72)},
	} {
		b := tt.change(goodRTU(t))
		var m mad.Message
		if err := m.Decode(b); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := mad.Explain(b); err != nil {
			t.Errorf("%s: Explain = %v of what Decode accepts", tt.name, err)
		}
	}
}

// A borrowed slice ends where its field ends: an append to it does not overwrite the rest of the
// MAD.
func TestBorrowedBytesEndWithTheirField(t *testing.T) {
	for _, tt := range layouts {
		var m mad.Message
		if err := m.Decode(wire(t, strings.Map(hexDigits, tt.wire))); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string][]byte{
			"REQ": m.REQ.PrivateData, "MRA": m.MRA.PrivateData,
			"REJ": m.REJ.PrivateData, "ARI": m.REJ.ARI, "REP": m.REP.PrivateData,
			"RTU": m.RTU.PrivateData, "DREQ": m.DREQ.PrivateData, "DREP": m.DREP.PrivateData,
			"SIDR_REQ": m.SIDRREQ.PrivateData,
			"SIDR_REP": m.SIDRREP.PrivateData, "information": m.SIDRREP.AdditionalInformation,
		} {
			if cap(b) != len(b) {
				t.Errorf("%s: %s has cap %d, len %d", tt.name, name, cap(b), len(b))
			}
		}
	}
}
