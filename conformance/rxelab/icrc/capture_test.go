package icrc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/gopacket"
	"github.com/gorxe/gorxe/internal/rxetraffic"
)

// The captures in testdata: rxe-* are packets of rdma_rxe (ib_write_lat on Linux 6.1,
// ibv_rc_pingpong on 6.12); gorxe-* are datagrams that gorxe passed to the kernel as one
// segmented datagram, as a capture on a veth shows them (FIRST and MIDDLE packets of different
// length of an ib_write_bw message; an ibv_rc_pingpong message of 16 packets at path MTU 256).
func load(t testing.TB, name string) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// opcodes holds the opcodes of a capture, by the text of the address.
type opcodes map[string][]int

func (o opcodes) sets() map[netip.Addr]Opcodes {
	out := map[netip.Addr]Opcodes{}
	for from, list := range o {
		var set Opcodes
		set.Add(list...)
		out[netip.MustParseAddr(from)] = set
	}
	return out
}

func TestCheckAcceptsRealCaptures(t *testing.T) {
	for _, c := range []struct {
		file string
		want Summary
	}{
		{"rxe-6.1-ipv4.pcap", Summary{Frames: 4, Datagrams: 4, Packets: 4,
			Opcodes: opcodes{"198.18.0.2": {10, 17}, "198.18.0.3": {10, 17}}.sets()}},
		{"rxe-6.12-ipv6.pcap", Summary{Frames: 4, Datagrams: 4, Packets: 4,
			Opcodes: opcodes{"fd00:18::1": {4, 17}}.sets()}},
		{"gorxe-merged-ipv4.pcap", Summary{Frames: 1, Datagrams: 1, Packets: 2, Merged: 1,
			Opcodes: opcodes{"198.18.2.2": {6, 7}}.sets()}},
		{"gorxe-merged-ipv6.pcap", Summary{Frames: 1, Datagrams: 1, Packets: 16, Merged: 1,
			Opcodes: opcodes{"fd00:18:0:1::2": {0, 1, 2}}.sets()}},
	} {
		t.Run(c.file, func(t *testing.T) {
			seen, shown, frames := opcodes{}.sets(), 0, 0
			got, err := Observe(bytes.NewReader(load(t, c.file)), Observer{
				Frame: func(about gopacket.CaptureInfo, frame []byte) {
					if about.CaptureLength == len(frame) && !about.Timestamp.IsZero() {
						frames++
					}
				},
				Packet: func(from netip.Addr, packet []byte) {
					shown++
					o := seen[from]
					o.Add(int(packet[0]))
					seen[from] = o
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want.Opcodes, seen, addrs); d != "" || shown != c.want.Packets ||
				frames != c.want.Frames {
				t.Errorf("%d packets and %d frames were shown, want %d; their opcodes (- want, + shown): %s", shown,
					frames, c.want.Packets, d)
			}
			if d := cmp.Diff(c.want, got, addrs); d != "" {
				t.Error(d)
			}
		})
	}
}

var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func TestEveryICRCOfLinuxIsRight(t *testing.T) {
	for _, f := range rxetraffic.Unpack(t) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			s, err := Check(bytes.NewReader(b))
			if err != nil || s.Bad != 0 || s.Packets == 0 {
				t.Fatalf("%+v, %v", s, err)
			}
		})
	}
}

const fileHeader, recordHeader = 24, 16

// frames splits a capture into its frames.
func frames(b []byte) [][]byte {
	var out [][]byte
	for b = b[fileHeader:]; len(b) > recordHeader; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		out = append(out, b[recordHeader:recordHeader+n])
		b = b[recordHeader+n:]
	}
	return out
}

// TestPublishedVector checks a CNP that a ConnectX-4 Lx sent, from scapy's test/contrib/roce.uts.
func TestPublishedVector(t *testing.T) {
	ip, err := hex.DecodeString("45c2003c718c4000401191610a0011010a001201" + "000012b700280000" +
		"8100ffff4000011800000000" +
		"00000000000000000000000000000000" + "82fd002a")
	if err != nil {
		t.Fatal(err)
	}
	d, err := parse(append([]byte{12: 0x08, 13: 0x00}, ip...))
	if err != nil {
		t.Fatal(err)
	}
	if v := d.check(true); v.Bad != 0 || v.Packets != 1 {
		t.Errorf("%+v", v)
	}
}

func TestChangedFields(t *testing.T) {
	v4 := frames(load(t, "rxe-6.1-ipv4.pcap"))[0]
	v6 := frames(load(t, "rxe-6.12-ipv6.pcap"))[0]
	const ip, udp4, udp6 = 14, 14 + 20, 14 + 40
	for _, c := range []struct {
		field   string
		frame   []byte
		offset  int
		covered bool
	}{
		{"IPv4 ToS", v4, ip + 1, false},
		{"IPv4 identification", v4, ip + 5, true},
		{"IPv4 don't fragment", v4, ip + 6, true},
		{"IPv4 TTL", v4, ip + 8, false},
		{"IPv4 header checksum", v4, ip + 10, false},
		{"IPv4 source", v4, ip + 15, true},
		{"IPv4 destination", v4, ip + 19, true},
		{"UDP source port", v4, udp4 + 1, true},
		{"UDP checksum", v4, udp4 + 6, false},
		{"BTH opcode", v4, udp4 + 8, true},
		{"BTH FECN and BECN", v4, udp4 + 8 + 4, false},
		{"BTH destination QP", v4, udp4 + 8 + 7, true},
		{"BTH AckReq and reserved", v4, udp4 + 8 + 8, true},
		{"payload", v4, len(v4) - 5, true},
		{"ICRC", v4, len(v4) - 1, true},
		{"IPv6 traffic class", v6, ip + 1, false},
		{"IPv6 flow label", v6, ip + 3, false},
		{"IPv6 hop limit", v6, ip + 7, false},
		{"IPv6 source", v6, ip + 23, true},
		{"IPv6 UDP checksum", v6, udp6 + 7, false},
		{"IPv6 PSN", v6, udp6 + 8 + 11, true},
	} {
		t.Run(c.field, func(t *testing.T) {
			f := bytes.Clone(c.frame)
			f[c.offset] ^= 0x40
			d, err := parse(f)
			if err != nil {
				t.Fatal(err)
			}
			if v := d.check(true); (v.Bad != 0) != c.covered {
				t.Errorf("wrong packets: %d, covered by the ICRC: %v", v.Bad, c.covered)
			}
		})
	}
}

func TestMergedPacketsAreCheckedOneByOne(t *testing.T) {
	whole := frames(load(t, "gorxe-merged-ipv6.pcap"))[0]
	const first = 14 + 40 + 8
	for _, c := range []struct {
		name   string
		offset int
	}{
		{"first", first + 20}, {"middle", first + 7*(12+256+4) + 20}, {"last", len(whole) - 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := bytes.Clone(whole)
			f[c.offset] ^= 1
			d, err := parse(f)
			if err != nil {
				t.Fatal(err)
			}
			want := verdict{Packets: 16, Bad: 1, Size: 12 + 256 + 4}
			if d := cmp.Diff(want, d.check(true)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSegmentsOfUnlikelyLengthAreFound(t *testing.T) {
	d, err := parse(frames(load(t, "gorxe-merged-ipv6.pcap"))[0])
	if err != nil {
		t.Fatal(err)
	}
	// Two SEND ONLY packets of 20 bytes of payload, with ICRCs from this test.
	var merged []byte
	for range 2 {
		p := append([]byte{4, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 2}, bytes.Repeat([]byte{7}, 20)...)
		r := d.segment(0, len(p)+icrcLen).feed(p[:4]).feed([]byte{0xff}).feed(p[5:])
		merged = append(merged, binary.LittleEndian.AppendUint32(p, r.sum())...)
	}
	d.payload = merged
	if diff := cmp.Diff(verdict{Packets: 2, Size: 36}, d.check(true)); diff != "" {
		t.Error(diff)
	}
	if v := d.check(false); v.Bad == 0 {
		t.Errorf("found without a search: %+v", v)
	}
}

func TestDamagedFramesAreFaults(t *testing.T) {
	whole := frames(load(t, "rxe-6.1-ipv4.pcap"))[0]
	edit := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(whole)) }
	for _, c := range []struct {
		name  string
		frame []byte
		want  string
	}{
		{"cut short", whole[:len(whole)-4], "captured"},
		{"a fragment", edit(func(b []byte) []byte { b[14+6] |= 0x20; return b }), "fragment"},
		{"UDP length lies", edit(func(b []byte) []byte { b[14+20+5]++; return b }), "UDP length"},
		{"UDP length below its own header", edit(func(b []byte) []byte { b[14+3], b[14+20+5] = 20, 0; return b }),
			"UDP length"},
		{"too short for a BTH", edit(func(b []byte) []byte { b[14+3], b[14+20+5] = 20+8+15, 8+15; return b }),
			"too short"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Summary
			s.add(c.frame, nil)
			if s.Bad != 1 || !strings.Contains(strings.Join(s.Faults, " "), c.want) {
				t.Errorf("%+v, want a fault with %q", s, c.want)
			}
		})
	}
}

func TestOtherTrafficIsNotCounted(t *testing.T) {
	whole := frames(load(t, "rxe-6.1-ipv4.pcap"))[0]
	otherPort := bytes.Clone(whole)
	otherPort[14+20+3]++
	tcp := bytes.Clone(whole)
	tcp[14+9] = 6
	arp := append(bytes.Repeat([]byte{0xff}, 12), 8, 6)
	var s Summary
	for _, f := range [][]byte{otherPort, tcp, arp, arp[:5], nil} {
		s.add(f, nil)
	}
	if d := cmp.Diff(Summary{}, s, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestCaptureCutWithinAFrame(t *testing.T) {
	b := load(t, "rxe-6.1-ipv4.pcap")
	s, err := Check(bytes.NewReader(b[:len(b)-3]))
	if err != nil || !s.Cut || s.Packets != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestNoCapture(t *testing.T) {
	for _, b := range []string{"", "tcpdump: no such device", strings.Repeat("\x00", 40)} {
		if s, err := Check(strings.NewReader(b)); err == nil {
			t.Errorf("%q: %+v, want an error", b, s)
		}
	}
}

func FuzzFrame(f *testing.F) {
	for _, name := range []string{"rxe-6.1-ipv4.pcap", "rxe-6.12-ipv6.pcap", "gorxe-merged-ipv4.pcap",
		"gorxe-merged-ipv6.pcap"} {
		for _, frame := range frames(load(f, name)) {
			f.Add(frame)
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var s Summary
		s.add(frame, nil)
		if s.Bad > s.Packets || s.Datagrams > 1 || s.Merged > s.Datagrams {
			t.Errorf("%+v", s)
		}
	})
}
