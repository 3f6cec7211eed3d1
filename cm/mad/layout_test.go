package mad_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

const (
	headerHex  = "01 07 02 03 0000 0000 0011223344556677 "
	commIDsHex = " 0000 a1a2a3a4  01020304 05060708 "
	gid1Hex    = " 20010db8000000000000000000000001 "
	gid2Hex    = " 00000000000000000000ffffc6120002 "
)

var (
	gid1 = qp.GID{0x20, 1, 0xd, 0xb8, 15: 1}
	gid2 = qp.GID{10: 0xff, 0xff, 198, 18, 0, 2}
)

// layouts spells out messages by hand, one group of digits per field of the tables of IBA chapter
// 12, including those that occur in no capture. Private data is given without its padding.
var layouts = []struct {
	name string
	wire string
	want mad.Message
}{
	{
		"REQ",
		headerHex + `0010 0000 a1a2a3a4
			01020304 00 aabbcc 0000000001061c06 5054009988776655 00000000 deadbeef
			123456 10 654321 20 abcdef` + /* timeout 20, service 3, flow control */ `a7
			fedcba` + /* timeout 21, retry 6 */ `ae 8001` + /* MTU 3, RDC, RNR retry 5 */ `3d` + /* retries 15, SRQ, extended 1 */ `f9
			0001 0002` + gid1Hex + gid2Hex + `fffff` + /* reserved, rate 33 */ `021 44 40` + /* SL 7, subnet local */ `78 98
			0003 0004` + gid2Hex + gid1Hex + `12345` + `03f 45 41` + /* SL 8 */ `80` + /* timeout 31, SAP */ `fc
			68656c6c6f`,
		mad.Message{Attribute: mad.AttrREQ, REQ: mad.REQ{
			LocalCommID: 0x01020304, VendorID: 0xaabbcc, ServiceID: 0x01061c06,
			LocalCAGUID: 0x5054009988776655, LocalQKey: 0xdeadbeef,
			LocalQPN: 0x123456, ResponderResources: 16, LocalEECN: 0x654321, InitiatorDepth: 32, RemoteEECN: 0xabcdef,
			RemoteCMResponseTimeout: 20, TransportService: mad.TransportExtended, EndToEndFlowControl: true,
			StartingPSN: 0xfedcba, LocalCMResponseTimeout: 21, RetryCount: 6,
			PKey: 0x8001, PathMTU: 3, RDCExists: true, RNRRetryCount: 5,
			MaxCMRetries: 15, SRQ: true, ExtendedTransport: 1,
			Primary: mad.Path{
				LocalLID: 1, RemoteLID: 2, LocalGID: gid1, RemoteGID: gid2,
				FlowLabel: 0xfffff, PacketRate: 33, TrafficClass: 0x44, HopLimit: 64,
				SL: 7, SubnetLocal: true, LocalACKTimeout: 19,
			},
			Alternate: mad.Path{
				LocalLID: 3, RemoteLID: 4, LocalGID: gid2, RemoteGID: gid1, FlowLabel: 0x12345, PacketRate: 63,
				TrafficClass: 0x45, HopLimit: 65,
				SL: 8, LocalACKTimeout: 31,
			},
			SAPSupported: true, PrivateData: private("hello", mad.REQPrivateLen),
		}},
	},
	{
		"MRA of a REP, service timeout 24",
		headerHex + "0011" + commIDsHex + "40 c0 68656c6c6f",
		mad.Message{Attribute: mad.AttrMRA, MRA: mad.MRA{
			LocalCommID: 0x01020304, RemoteCommID: 0x05060708, MessageMRAed: mad.MessageREP, ServiceTimeout: 24,
			PrivateData: private("hello", mad.MRAPrivateLen),
		}},
	},
	{
		"REJ of no message, with the GID to use",
		headerHex + "0012" + commIDsHex + "80 20 000c" + gid1Hex + strings.Repeat("00", 56) + "68656c6c6f",
		mad.Message{Attribute: mad.AttrREJ, REJ: mad.REJ{
			LocalCommID: 0x01020304, RemoteCommID: 0x05060708, MessageRejected: mad.MessageOther,
			Reason: mad.RejectInvalidGID, ARI: gid1[:],
			PrivateData: private("hello", mad.REJPrivateLen),
		}},
	},
	{
		"REP",
		headerHex + `0013` + commIDsHex + `deadbeef 123456 aa 654321 bb fedcba cc 10 20` +
			/* delay 15, failover 2, flow control */ `7d` + /* RNR retry 6, SRQ */ `d0 5054009988776655 68656c6c6f`,
		mad.Message{Attribute: mad.AttrREP, REP: mad.REP{
			LocalCommID: 0x01020304, RemoteCommID: 0x05060708, LocalQKey: 0xdeadbeef, LocalQPN: 0x123456,
			VendorID: 0xaabbcc, LocalEECN: 0x654321, StartingPSN: 0xfedcba, ResponderResources: 16,
			InitiatorDepth: 32, TargetACKDelay: 15, FailoverAccepted: 2, EndToEndFlowControl: true, RNRRetryCount: 6,
			SRQ: true, LocalCAGUID: 0x5054009988776655, PrivateData: private("hello", mad.REPPrivateLen),
		}},
	},
	{
		"RTU",
		headerHex + "0014" + commIDsHex + "68656c6c6f",
		mad.Message{Attribute: mad.AttrRTU, RTU: mad.RTU{
			LocalCommID: 0x01020304, RemoteCommID: 0x05060708, PrivateData: private("hello", mad.RTUPrivateLen),
		}},
	},
	{
		"DREQ",
		headerHex + "0015" + commIDsHex + "123456 00 68656c6c6f",
		mad.Message{Attribute: mad.AttrDREQ, DREQ: mad.DREQ{
			LocalCommID: 0x01020304, RemoteCommID: 0x05060708, RemoteQPN: 0x123456,
			PrivateData: private("hello", mad.DREQPrivateLen),
		}},
	},
	{
		"DREP",
		headerHex + "0016" + commIDsHex + "68656c6c6f",
		mad.Message{Attribute: mad.AttrDREP, DREP: mad.DREP{
			LocalCommID: 0x01020304, RemoteCommID: 0x05060708, PrivateData: private("hello", mad.DREPPrivateLen),
		}},
	},
	{
		"SIDR_REQ",
		headerHex + "0017 0000 a1a2a3a4 01020304 8001 0000 0000000001111c06 68656c6c6f",
		mad.Message{Attribute: mad.AttrSIDRREQ, SIDRREQ: mad.SIDRREQ{
			RequestID: 0x01020304, PKey: 0x8001, ServiceID: 0x01111c06,
			PrivateData: private("hello", mad.SIDRREQPrivateLen),
		}},
	},
	{
		"SIDR_REP with additional information",
		headerHex + `0018 0000 a1a2a3a4 01020304 04 03 aabb 123456 cc 0000000001111c06 01234567 010203` +
			strings.Repeat("00", 69) + `68656c6c6f`,
		mad.Message{Attribute: mad.AttrSIDRREP, SIDRREP: mad.SIDRREP{
			RequestID: 0x01020304, Status: mad.SIDRRedirect, VendorID: 0xaabbcc, QPN: 0x123456,
			ServiceID: 0x01111c06, QKey: 0x01234567, AdditionalInformation: []byte{1, 2, 3},
			PrivateData: private("hello", mad.SIDRREPPrivateLen),
		}},
	},
}

// private returns text padded with zeros to n bytes.
func private(text string, n int) []byte { return append([]byte(text), make([]byte, n-len(text))...) }

func TestLayout(t *testing.T) {
	for _, tt := range layouts {
		t.Run(tt.name, func(t *testing.T) {
			b := wire(t, strings.Map(hexDigits, tt.wire))
			want := tt.want
			want.TransactionID, want.AttributeModifier = 0x0011223344556677, 0xa1a2a3a4
			var got mad.Message
			if err := got.Decode(b); err != nil {
				t.Fatal(mad.Explain(b))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Decode (-want +got):\n%s", diff)
			}
			var again [mad.Len]byte
			if err := want.Encode(&again); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again[:], b) {
				t.Errorf("Encode\n got %x\nwant %x", again, b)
			}
		})
	}
}

// hexDigits drops white space.
func hexDigits(r rune) rune {
	if strings.ContainsRune(" \t\n", r) {
		return -1
	}
	return r
}

func TestLAPAndAPRAreRecognisedButNotDecoded(t *testing.T) {
	for attr, digits := range map[mad.Attribute]string{mad.AttrLAP: "0019", mad.AttrAPR: "001a"} {
		b := wire(t, headerHex+digits+commIDsHex)
		got := mad.Message{RTU: mad.RTU{LocalCommID: 7}}
		if err := got.Decode(b); err != nil {
			t.Fatal(err)
		}
		want := mad.Message{TransactionID: 0x0011223344556677, Attribute: attr, AttributeModifier: 0xa1a2a3a4,
			RTU: mad.RTU{LocalCommID: 7}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Decode (-want +got):\n%s", diff)
		}
	}
}

func TestOnlyTheDecodedMessageChanges(t *testing.T) {
	var m mad.Message
	for _, tt := range layouts {
		if err := m.Decode(wire(t, strings.Map(hexDigits, tt.wire))); err != nil {
			t.Fatal(err)
		}
	}
	var want mad.Message
	for _, tt := range layouts {
		x := tt.want
		want.REQ, want.MRA, want.REJ = pick(x, mad.AttrREQ, x.REQ, want.REQ), pick(x, mad.AttrMRA, x.MRA, want.MRA),
			pick(x, mad.AttrREJ, x.REJ, want.REJ)
		want.REP, want.RTU, want.DREQ = pick(x, mad.AttrREP, x.REP, want.REP), pick(x, mad.AttrRTU, x.RTU, want.RTU),
			pick(x, mad.AttrDREQ, x.DREQ, want.DREQ)
		want.DREP, want.SIDRREQ = pick(x, mad.AttrDREP, x.DREP, want.DREP),
			pick(x, mad.AttrSIDRREQ, x.SIDRREQ, want.SIDRREQ)
		want.SIDRREP = pick(x, mad.AttrSIDRREP, x.SIDRREP, want.SIDRREP)
	}
	want.TransactionID, want.Attribute, want.AttributeModifier = 0x0011223344556677, mad.AttrSIDRREP, 0xa1a2a3a4
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("one MAD for all messages (-want +got):\n%s", diff)
	}
}

func pick[T any](m mad.Message, a mad.Attribute, v, otherwise T) T {
	if m.Attribute == a {
		return v
	}
	return otherwise
}
