package fields_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fields"
)

// of decodes a packet of the given length, of which b was captured.
func of(b []byte, length int) []fields.Field {
	p := &trace.Packet{
		Src: netip.MustParseAddrPort("198.18.0.2:50000"), Dst: netip.MustParseAddrPort("198.18.0.3:4791"),
		IP:    trace.IP{Version: 4},
		Bytes: b, Len: length,
	}
	if p.BTH.Decode(b) == nil && p.BTH.DestQP == bth.GSI {
		var m mad.Message
		if m.Decode(p.BTH.Payload) == nil {
			p.MAD = &m
		}
	}
	return fields.Append(nil, p)
}

func packetOf(op bth.Opcode) bth.Packet {
	p := bth.Packet{
		Opcode: op, PKey: 0x8001, DestQP: 0x123456, PSN: 0x654321, RETH: bth.RETH{VA: 1, RKey: 2, DMALen: 8},
		AETH: bth.AETH{Syndrome: 0x1f, MSN: 4}, AtomicETH: bth.AtomicETH{VA: 8, RKey: 3, SwapAdd: 5, Compare: 6},
		AtomicAck: 7, Imm: 8, InvalidateRKey: 9, DETH: bth.DETH{QKey: 10, SrcQP: 11}, FETH: bth.FETH{Type: 1},
	}
	if op.Info().Payload {
		p.Payload = []byte("payload!")
	}
	return p
}

// covers checks that a change of any bit in bytes [from, to) changes only the fields that are
// located there. Bits for which spare returns true are reserved and need not change anything.
func covers(t *testing.T, b []byte, from, to int, spare func(at int) bool) {
	t.Helper()
	before := of(b, len(b))
	for at := from; at < to; at++ {
		seen := false
		for bit := range 8 {
			c := bytes.Clone(b)
			c[at] ^= 1 << bit
			after := of(c, len(c))
			if len(after) != len(before) {
				continue // another opcode, version or attribute has other fields
			}
			for i, f := range after {
				if f.Value == before[i].Value || f.Header != before[i].Header {
					continue
				}
				seen = true
				if lengthOf[f.Name] != "" && changed(before, after, lengthOf[f.Name]) {
					continue
				}
				if f.Offset > at || f.Offset+f.Len <= at {
					t.Errorf("byte %d changes %s, which says it is at %d, %d bytes long", at, f.Name, f.Offset, f.Len)
				}
			}
		}
		if !seen && !spare(at) {
			t.Errorf("byte %d changes no field", at)
		}
	}
}

// lengthOf are the fields with the length of another field.
var lengthOf = map[string]string{
	"Additional Reject Information (ARI)": "Reject Info Length",
	"Additional Information":              "Additional Information Length",
}

func changed(before, after []fields.Field, name string) bool {
	i := slices.IndexFunc(after, func(f fields.Field) bool { return f.Name == name })
	return before[i].Value != after[i].Value
}

func TestFieldsAreWhereTheySay(t *testing.T) {
	for op := range bth.Opcodes() {
		t.Run(op.String(), func(t *testing.T) {
			p := packetOf(op)
			b := bth.AppendICRC(p.Append(nil), 0x01020304)
			end := op.Info().HeaderLen
			if op == bth.CNP {
				end = bth.BTHLen // the rest is reserved
			}
			covers(t, b, 0, end, func(at int) bool {
				// Opcode; reserved bytes of DETH and FETH.
				return at == 0 || op.Info().Headers&bth.HasDETH != 0 && at == 16 || op == bth.RCFlush &&
					at >= 12 && at < 15
			})
		})
	}
}

func TestFieldsOfTheConnectionManagerAreWhereTheySay(t *testing.T) {
	private := []byte("this is said between programs")
	for a := mad.AttrREQ; a <= mad.AttrSIDRREP; a++ {
		t.Run(a.String(), func(t *testing.T) {
			m := mad.Message{
				Attribute: a, TransactionID: 1, REQ: mad.REQ{PathMTU: 3, PrivateData: private},
				REP: mad.REP{PrivateData: private},
				REJ: mad.REJ{ARI: bytes.Repeat([]byte{1}, mad.InfoLen), PrivateData: private},
				MRA: mad.MRA{PrivateData: private}, RTU: mad.RTU{PrivateData: private},
				DREQ: mad.DREQ{PrivateData: private}, DREP: mad.DREP{PrivateData: private},
				SIDRREQ: mad.SIDRREQ{PrivateData: private},
				SIDRREP: mad.SIDRREP{AdditionalInformation: []byte{1}, PrivateData: private},
			}
			var w [mad.Len]byte
			if err := m.Encode(&w); err != nil {
				t.Fatal(err)
			}
			p := bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI, Payload: w[:]}
			b := bth.AppendICRC(p.Append(nil), 0)
			all := of(b, len(b))
			last := all[slices.IndexFunc(all, func(f fields.Field) bool { return f.Name == fields.PrivateData })]
			if string(b[last.Offset:][:len(private)]) != string(private) || last.Offset+last.Len != 20+mad.Len {
				t.Errorf("private data is said to be at %d, %d bytes", last.Offset, last.Len)
			}
			// Some bytes are reserved, or belong to Reliable Datagram.
			covers(t, b, 20, last.Offset, func(int) bool { return true })
		})
	}
}

func TestTheHeaderOfIPIsTakenOutOfPrivateData(t *testing.T) {
	h := mad.IPHeader{SourcePort: 777, Source: netip.MustParseAddr("198.18.0.2"),
		Destination: netip.MustParseAddr("198.18.0.3")}
	private, err := h.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := mad.Message{Attribute: mad.AttrREQ,
		REQ: mad.REQ{ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7174), PrivateData: private}}
	var w [mad.Len]byte
	if err := m.Encode(&w); err != nil {
		t.Fatal(err)
	}
	p := bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI, Payload: w[:]}
	b := bth.AppendICRC(p.Append(nil), 0)
	var got []string
	for _, f := range of(b, len(b)) {
		if strings.HasPrefix(f.Name, "IP CM") || f.Name == fields.PrivateData {
			got = append(got, fmt.Sprintf("%s=%s at %d", f.Name, f.Value, f.Offset))
		}
	}
	want := "IP CM Source Port=777 at 186, IP CM Source Address=198.18.0.2 at 188, IP CM Destination Address=198.18.0.3 at 204, PrivateData=56 bytes at 220"
	if strings.Join(got, ", ") != want {
		t.Errorf("%v", got)
	}
}

// Fields never extend beyond the captured bytes.
func TestFieldsStayInsideTheBytes(t *testing.T) {
	for op := range 256 {
		p := packetOf(bth.Opcode(op))
		b := bth.AppendICRC(p.Append(nil), 0)
		for n := range len(b) + 1 {
			for _, f := range of(b[:n:n], len(b)) {
				if f.Len > 0 && f.Offset+f.Len > n {
					t.Errorf("opcode %#x, %d of %d bytes: %s is said to be at %d, %d bytes long", op, n, len(b), f.Name,
						f.Offset, f.Len)
				}
			}
		}
	}
}
