package trace_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

func TestPacketsAreFoundOnEveryLink(t *testing.T) {
	v4 := ip4(nil, udp(roce4(0, write(bth.RCWriteOnly, 5, 99))))
	v6 := ip6(17, nil, udp(roce6(write(bth.RCWriteOnly, 5, 99))))
	vlan := func(kind uint16, b []byte) []byte {
		return append(binary.BigEndian.AppendUint16([]byte{0, 7}, kind), b...)
	}
	sll := func(packetType byte, kind uint16, b []byte) []byte {
		return append(append([]byte{0, packetType, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0}, byte(kind>>8),
			byte(kind)), b...)
	}
	sll2 := func(packetType byte, kind uint16, b []byte) []byte {
		return append([]byte{byte(kind >> 8), byte(kind), 0, 0, 0, 0, 0, 3, 0, 1, packetType, 6, 2, 0, 0, 0, 0,
			2, 0, 0}, b...)
	}
	tests := []struct {
		name string
		link capture.LinkType
		data []byte
		dir  capture.Direction
	}{
		{"Ethernet, IPv4", capture.LinkEthernet, ether(0x0800, v4), capture.Unknown},
		{"Ethernet, IPv6", capture.LinkEthernet, ether(0x86dd, v6), capture.Unknown},
		{"Ethernet, padded", capture.LinkEthernet, append(ether(0x0800, v4), 1, 2, 3, 4), capture.Unknown},
		{"802.1Q", capture.LinkEthernet, ether(0x8100, vlan(0x0800, v4)), capture.Unknown},
		{"802.1ad with 802.1Q", capture.LinkEthernet, ether(0x88a8, vlan(0x8100, vlan(0x86dd, v6))), capture.Unknown},
		{"cooked, received", capture.LinkLinuxSLL, sll(0, 0x0800, v4), capture.Inbound},
		{"cooked, sent, VLAN", capture.LinkLinuxSLL, sll(4, 0x8100, vlan(0x86dd, v6)), capture.Outbound},
		{"cooked v2, sent", capture.LinkLinuxSLL2, sll2(4, 0x0800, v4), capture.Outbound},
		{"cooked v2, of others", capture.LinkLinuxSLL2, sll2(3, 0x86dd, v6), capture.Unknown},
		{"raw, IPv4", capture.LinkRaw, v4, capture.Unknown},
		{"raw, IPv6", capture.LinkRaw, v6, capture.Unknown},
		{"IPv4", capture.LinkIPv4, v4, capture.Unknown},
		{"IPv6", capture.LinkIPv6, v6, capture.Unknown},
		{"null, little-endian", capture.LinkNull, append([]byte{2, 0, 0, 0}, v4...), capture.Unknown},
		{"null, big-endian", capture.LinkNull, append([]byte{0, 0, 0, 30}, v6...), capture.Unknown},
		{"loop", capture.LinkLoop, append([]byte{0, 0, 0, 24}, v6...), capture.Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d trace.Decoder
			n := 0
			d.Decode(&capture.Frame{Number: 8, Link: tt.link, Data: tt.data, Length: len(tt.data)},
				func(p *trace.Packet) {
					n++
					if p.Err != nil || p.ICRC.Verdict != trace.Right || p.BTH.PSN != 5 || p.Number != 8 ||
						len(p.BTH.Payload) != 99 {
						t.Errorf("%+v", p)
					}
					if p.Direction != tt.dir {
						t.Errorf("direction %v, want %v", p.Direction, tt.dir)
					}
					if p.IP.TrafficClass != 2 || p.IP.HopLimit != 64 || p.Src.Port() != testPort ||
						p.Dst.Port() != trace.Port {
						t.Errorf("%+v from %v to %v", p.IP, p.Src, p.Dst)
					}
				})
			if n != 1 {
				t.Errorf("%d packets, %+v", n, d.Counts)
			}
		})
	}
}

// The direction in the capture file overrides that of the link header.
func TestDirectionOfTheCaptureIsTaken(t *testing.T) {
	b := append([]byte{0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 2, 0, 0, 8, 0},
		ip4(nil, udp(roce4(0, write(bth.RCWriteOnly, 5, 9))))...)
	var d trace.Decoder
	d.Decode(&capture.Frame{Link: capture.LinkLinuxSLL, Data: b, Length: len(b), Direction: capture.Inbound},
		func(p *trace.Packet) {
			if p.Direction != capture.Inbound {
				t.Errorf("direction %v", p.Direction)
			}
		})
}

func TestFramesWithoutPacketsAreCountedByReason(t *testing.T) {
	good := ip4(nil, udp(roce4(0, write(bth.RCWriteOnly, 5, 9))))
	set := func(b []byte, at int, v ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], v)
		return b
	}
	six := ip6(17, nil, udp(roce6(write(bth.RCWriteOnly, 5, 9))))
	raw, eth := capture.LinkRaw, capture.LinkEthernet
	tests := []struct {
		name   string
		link   capture.LinkType
		data   []byte
		length int // on the wire, if different
		want   trace.Skip
	}{
		{"radio", 127, good, 0, trace.SkipLinkType},
		{"ARP", eth, ether(0x0806, make([]byte, 28)), 0, trace.SkipNotIP},
		{"raw, IP version 5", raw, []byte{0x55}, 0, trace.SkipNotIP},
		{"family of AppleTalk", capture.LinkNull, []byte{16, 0, 0, 0, 0x45}, 0, trace.SkipNotIP},
		{"TCP", raw, set(good, 9, 6), 0, trace.SkipOther},
		{"port 4792", raw, set(good, 23, 0xb8), 0, trace.SkipOther},
		{"from port 4791 to another", raw, set(good, 20, 0x12, 0xb7, 0x30, 0x39), 0, trace.SkipOther},
		{"IPv6 with TCP", raw, set(six, 6, 6), 0, trace.SkipOther},
		{"pause frame", eth, ether(0x8808, []byte{0, 1, 0xff, 0xff}), 0, trace.SkipForeign},
		{"second fragment", raw, set(good, 6, 0, 1), 0, trace.SkipFragment},
		{"second fragment of IPv6", raw, ip6(44, []byte{17, 0, 0, 8, 0, 0, 0, 1}, good[20:]), 0, trace.SkipFragment},
		{"Ethernet header cut", eth, make([]byte, 13), 60, trace.SkipCut},
		{"VLAN tag cut", eth, ether(0x8100, []byte{0, 7, 8}), 60, trace.SkipCut},
		{"IPv4 header cut", raw, good[:19], 60, trace.SkipCut},
		{"UDP header cut", raw, good[:27], 60, trace.SkipCut},
		{"IPv6 header cut", raw, six[:39], 60, trace.SkipCut},
		{"extension header cut", raw, set(six[:42], 6, 0), 80, trace.SkipCut},
		{"empty", raw, nil, 0, trace.SkipMalformed},
		{"Ethernet of 3 bytes", eth, []byte{1, 2, 3}, 0, trace.SkipMalformed},
		{"IPv4 of 19 bytes", raw, good[:19], 0, trace.SkipMalformed},
		{"IPv4 header of 16 bytes", raw, set(good, 0, 0x44), 0, trace.SkipMalformed},
		{"IPv4 without room for UDP", raw, set(good, 2, 0, 27), 0, trace.SkipMalformed},
		{"IPv4 in a frame for IPv6", eth, ether(0x86dd, set(good, 0, 0x05)), 0, trace.SkipMalformed},
		{"extension headers without end", raw, ip6(60, bytes.Repeat([]byte{60, 0, 0, 0, 0, 0, 0, 0}, 17), nil), 0,
			trace.SkipMalformed},
	}
	seen := map[trace.Skip]bool{}
	for _, tt := range tests {
		seen[tt.want] = true
		t.Run(tt.name, func(t *testing.T) {
			var d trace.Decoder
			got := decode(&d, &capture.Frame{Link: tt.link, Data: tt.data, Length: max(tt.length, len(tt.data))})
			want := trace.Counts{Frames: 1}
			want.Skipped[tt.want] = 1
			if len(got) != 0 || d.Counts != want {
				t.Errorf("%+v, %+v, want %q", got, d.Counts, tt.want)
			}
		})
	}
	for s := range trace.Skip(trace.NumSkips) {
		if !seen[s] {
			t.Errorf("no frame for %q", s)
		}
	}
}

func TestPacketsThatAreNotWhatTheyShouldBe(t *testing.T) {
	good := roce4(0, write(bth.RCWriteOnly, 5, 100))
	with := func(at int, v ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[at:], v)
		return b
	}
	raw := func(b []byte) *capture.Frame { return &capture.Frame{Link: capture.LinkRaw, Data: b, Length: len(b)} }
	lie := ip4(nil, udp(good))
	lie[25] -= 4
	long := ip4(nil, udp(good))
	long[3] += 4
	first := ip4(nil, udp(good))
	first[6] = 0x20
	other := bytes.Clone(first)
	copy(other[28:], "hello world, this is long")
	tests := []struct {
		name  string
		frame *capture.Frame
		want  shown
	}{
		{"payload changed", frameOf(with(40, 9)), shown{ICRC: trace.Wrong, Payload: 100}},
		{"text", frameOf([]byte("hello, this is some other program that likes the port")),
			shown{ICRC: trace.Wrong, Doubt: true, Err: "may not be RoCEv2: wrong ICRC"}},
		{"nothing", frameOf(nil), shown{Doubt: true, Err: "shorter than the 12-byte BTH: 0 bytes"}},
		{"unknown opcode, right ICRC", frameOf(roce4(0, bth.Packet{Opcode: 0x15})),
			shown{ICRC: trace.Right, Err: "got 0x15"}},
		{"version 1, wrong ICRC", frameOf(with(1, 1)), shown{ICRC: trace.Wrong, Doubt: true, Err: "got 1"}},
		{"IP options", raw(ip4([]byte{1, 1, 1, 1}, udp(good))), shown{ICRC: trace.Right, Payload: 100}},
		{"IP options, ICRC of something else", raw(ip4([]byte{1, 1, 1, 1}, udp(with(30, 9)))),
			shown{ICRC: trace.NotChecked, Payload: 100}},
		{"extension header", raw(ip6(60, []byte{17, 0, 1, 4, 0, 0, 0, 0}, udp(roce6(write(bth.RCWriteOnly, 5, 100))))),
			shown{ICRC: trace.Right, Payload: 100}},
		{"authentication header", raw(ip6(51, append([]byte{17, 1}, make([]byte, 10)...),
			udp(roce6(write(bth.RCWriteOnly, 5, 100))))),
			shown{ICRC: trace.Right, Payload: 100}},
		{"first fragment", raw(first), shown{Err: "first fragment"}},
		{"first fragment of something else", raw(other), shown{Err: "first fragment", Doubt: true}},
		{"UDP length", raw(lie), shown{Err: "UDP length 136, but 140 bytes according to the IP header"}},
		{"IP length", raw(long), shown{Err: "the IP length exceeds the frame by 4 bytes"}},
		{"only atomic fragment",
			raw(ip6(44, []byte{17, 0, 0, 0, 0, 0, 0, 1}, udp(roce6(write(bth.RCWriteOnly, 5, 100))))),
			shown{ICRC: trace.Right, Payload: 100}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d trace.Decoder
			got := decode(&d, tt.frame)
			if len(got) != 1 {
				t.Fatalf("%+v", got)
			}
			g := got[0]
			if g.ICRC != tt.want.ICRC || g.Doubt != tt.want.Doubt || g.Payload != tt.want.Payload ||
				(g.Err == "") != (tt.want.Err == "") || !strings.Contains(g.Err, tt.want.Err) {
				t.Errorf("%+v, want %+v", g, tt.want)
			}
			if !g.Doubt && g.Op != 0x15 && g.PSN != 5 {
				t.Errorf("PSN %v", g.PSN)
			}
		})
	}
}

func TestAFlushOfRxeIsToldApart(t *testing.T) {
	p := bth.Packet{Opcode: bth.RCFlush, PKey: 0xffff, DestQP: 9, PSN: 5, FETH: bth.FETH{Type: 1}}
	b := p.Append(nil)
	seed := header4(0, len(b)+bth.ICRCLen).Seed()
	var d trace.Decoder
	d.Decode(frameOf(bth.AppendICRC(b, bth.ICRCRxeFlush(seed, b))), func(p *trace.Packet) {
		if p.ICRC.Verdict != trace.RightAsRxe || p.ICRC.Want != bth.ICRC(seed, b) {
			t.Errorf("%+v", p.ICRC)
		}
	})
	if d.Counts.Packets != 1 || d.Counts.Wrong != 0 {
		t.Errorf("%+v", d.Counts)
	}
}

func TestSnappedPacketsShowWhatThereIs(t *testing.T) {
	whole := roce4(0, write(bth.RCWriteOnly, 5, 101))
	n := len(whole)
	for _, tt := range []struct {
		name string
		kept int
		want []shown
	}{
		{"ICRC cut", n - 1, []shown{{1, 1, n, n - 1, 5, bth.RCWriteOnly, trace.NotChecked, 101, "", false}}},
		{"pad cut", n - 6, []shown{{1, 1, n, n - 6, 5, bth.RCWriteOnly, trace.NotChecked, 101, "", false}}},
		{"payload cut", 40, []shown{{1, 1, n, 40, 5, bth.RCWriteOnly, trace.NotChecked, 12, "", false}}},
		{"payload away", 28, []shown{{1, 1, n, 28, 5, bth.RCWriteOnly, trace.NotChecked, 0, "", false}}},
		{"RETH cut", 27, []shown{{1, 1, n, 27, 5, bth.RCWriteOnly, trace.NotChecked, 0,
			"captured too short to decode the headers", false}}},
		{"BTH cut", 11, []shown{{1, 1, n, 11, 0, 0, trace.NotChecked, 0,
			"captured too short to decode the headers", false}}},
		{"nothing there", 0, []shown{{1, 1, n, 0, 0, 0, trace.NotChecked, 0,
			"captured too short to decode the headers", false}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d trace.Decoder
			if diff := cmp.Diff(tt.want, decode(&d, snap(frameOf(whole), tt.kept))); diff != "" {
				t.Error(diff)
			}
			if d.Counts.Cut != 1 {
				t.Errorf("%+v", d.Counts)
			}
		})
	}
}

func TestSnappedGarbageIsInDoubt(t *testing.T) {
	b := []byte("hello, this is some other program that likes the port...")
	var d trace.Decoder
	got := decode(&d, snap(frameOf(b), 30))
	if len(got) != 1 || !got[0].Doubt || d.Counts.Doubt != 1 {
		t.Errorf("%+v, %+v", got, d.Counts)
	}
}

func TestMessagesOfTheConnectionManagerAreDecoded(t *testing.T) {
	var b [mad.Len]byte
	m := mad.Message{Attribute: mad.AttrREJ, TransactionID: 77,
		REJ: mad.REJ{LocalCommID: 1, RemoteCommID: 2, Reason: 8}}
	if err := m.Encode(&b); err != nil {
		t.Fatal(err)
	}
	mad := func(qpn bth.QPN, change func([]byte)) *capture.Frame {
		c := bytes.Clone(b[:])
		change(c)
		return frameOf(roce4(0, bth.Packet{Opcode: bth.UDSendOnly, DestQP: qpn, Payload: c}))
	}
	for _, tt := range []struct {
		name  string
		frame *capture.Frame
		mad   bool
		err   string
	}{
		{"a REJ", mad(1, func([]byte) {}), true, ""},
		{"to another queue pair", mad(2, func([]byte) {}), false, ""},
		{"of the class performance management", mad(1, func(b []byte) { b[1] = 4 }), false, ""},
		{"of an unknown attribute", mad(1, func(b []byte) { b[17] = 0x99 }), false, "connection manager"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d trace.Decoder
			d.Decode(tt.frame, func(p *trace.Packet) {
				if (p.MAD != nil) != tt.mad || (p.Err == nil) != (tt.err == "") || p.Err != nil &&
					!strings.Contains(p.Err.Error(), tt.err) {
					t.Errorf("MAD %v, error %v", p.MAD, p.Err)
				}
				if p.MAD != nil && (p.MAD.TransactionID != 77 || p.MAD.REJ.Reason != 8) {
					t.Errorf("%+v", p.MAD)
				}
			})
		})
	}
}

func TestDecodingAllocatesNothing(t *testing.T) {
	var many []byte
	for i := range 20 {
		many = append(many, roce4(i, write(bth.RCWriteMiddle, bth.PSN(i), 1024))...)
	}
	six := ether(0x86dd, ip6(17, nil, udp(roce6(write(bth.RCWriteOnly, 5, 99)))))
	var rtu [mad.Len]byte
	if err := (&mad.Message{Attribute: mad.AttrRTU}).Encode(&rtu); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*capture.Frame{
		"one packet": frameOf(roce4(0, write(bth.RCWriteOnly, 5, 1024))),
		"20 in one":  frameOf(many),
		"wrong ICRC": frameOf(roce4(1, write(bth.RCWriteOnly, 5, 1024))),
		"cut":        snap(frameOf(roce4(0, write(bth.RCWriteOnly, 5, 1024))), 64),
		"20, cut":    snap(frameOf(many), 3000),
		"not RoCE":   {Link: capture.LinkEthernet, Data: make([]byte, 60), Length: 60},
		"over IPv6":  {Link: capture.LinkEthernet, Data: six, Length: len(six)},
		"of the CM":  frameOf(roce4(0, bth.Packet{Opcode: bth.UDSendOnly, DestQP: 1, Payload: rtu[:]})),
	} {
		t.Run(name, func(t *testing.T) {
			var d trace.Decoder
			n := 0
			show := func(*trace.Packet) { n++ }
			if allocs := testing.AllocsPerRun(100, func() { d.Decode(f, show) }); allocs != 0 {
				t.Errorf("%v allocations", allocs)
			}
		})
	}
}
