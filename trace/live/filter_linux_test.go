package live

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/iwarp"
)

// machine returns the filter as a program of a virtual machine. It has no extension of the kernel,
// so that it cannot run the filter of a loopback.
func machine(t testing.TB, ethernet bool) *bpf.VM {
	t.Helper()
	raw, err := filterFor(ethernet, false)
	if err != nil {
		t.Fatal(err)
	}
	program, all := bpf.Disassemble(raw)
	if !all {
		t.Fatal("the filter cannot be disassembled")
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func passes(t testing.TB, vm *bpf.VM, frame []byte) bool {
	t.Helper()
	n, err := vm.Run(frame)
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

func v4(change func([]byte)) []byte {
	b := make([]byte, 64)
	copy(b, []byte{0x45, 0, 0, 64, 0, 0, 0x40, 0, 64, 17})
	b[22], b[23] = 0x12, 0xb7
	change(b)
	return b
}

func v6(change func([]byte)) []byte {
	b := make([]byte, 80)
	copy(b, []byte{0x60, 0, 0, 0, 0, 40, 17, 64})
	b[42], b[43] = 0x12, 0xb7
	change(b)
	return b
}

// set writes bytes at an offset.
func set(at int, to ...byte) func([]byte) { return func(b []byte) { copy(b[at:], to) } }

// port makes the datagram one to a UDP port.
func port(n uint16) func([]byte) {
	return func(b []byte) {
		at := 22
		if b[0]>>4 == 6 {
			at = 42
		}
		binary.BigEndian.PutUint16(b[at:], n)
	}
}

// tcp makes the packet a TCP segment with the payload.
func tcp(payload string) func([]byte) {
	return func(b []byte) {
		proto, at := 9, 20
		if b[0]>>4 == 6 {
			proto, at = 6, 40
		}
		clear(b[at:])
		b[proto], b[at+12] = 6, 5<<4
		copy(b[at+20:], payload)
	}
}

func TestFilterByIPHeader(t *testing.T) {
	raw, ethernet := machine(t, false), machine(t, true)
	for _, test := range []struct {
		rule   string
		packet []byte
		passes bool
	}{
		{"IPv4", v4(set(0)), true},
		{"IPv4 with options", v4(func(b []byte) { b[0], b[22], b[26], b[27] = 0x46, 0, 0x12, 0xb7 }), true},
		{"a first fragment", v4(set(6, 0x20)), true},
		{"another fragment", v4(set(6, 0x20, 1)), true},
		{"DNS over IPv4", v4(port(53)), false},
		{"4791 as the source port", v4(set(20, 0x12, 0xb7, 0, 53)), false},
		{"Ultra Ethernet", v4(port(4793)), true},
		{"VXLAN", v4(port(4789)), true},
		{"VXLAN of old Linux", v4(port(8472)), true},
		{"VXLAN-GPE", v4(port(4790)), true},
		{"Geneve", v4(port(6081)), true},
		{"MPLS in UDP", v4(port(6635)), true},
		{"GRE", v4(set(9, 47)), true},
		{"a fragment of GRE", v4(func(b []byte) { b[7], b[9] = 1, 47 }), true},
		{"IPv4 in IPv4", v4(set(9, 4)), true},
		{"IPv6 in IPv4", v4(set(9, 41)), true},
		{"MPLS in IPv4", v4(set(9, 137)), true},
		{"ICMP", v4(set(9, 1)), false},
		{"HTTP over TCP over IPv4", v4(tcp("GET / HTTP/1.1\r\n")), false},
		{"TLS", v4(tcp("\x17\x03\x03\x01\x00")), false},
		{"TCP without payload", v4(tcp("")), false},
		{"TCP, a fragment", v4(func(b []byte) { tcp("MPA ID Req Frame")(b); b[7] = 1 }), false},
		{"an MPA start frame", v4(tcp("MPA ID Rep Frame")), true},
		{"an RDMA Write", v4(tcp("\x00\x20\xc1\x40")), true},
		{"an RDMA Read Request", v4(tcp("\x00\x2e\x41\x41")), true},
		{"an RDMA Read Response", v4(tcp("\x05\xb0\x81\x42")), true},
		{"a Send", v4(tcp("\x00\x20\x41\x43")), true},
		{"an Atomic Response", v4(tcp("\x00\x20\x41\x4b")), true},
		{"an unknown opcode of RDMAP", v4(tcp("\x00\x20\x41\x4c")), false},
		{"an untagged Write", v4(tcp("\x00\x20\x41\x40")), false},
		{"a tagged Send", v4(tcp("\x00\x20\xc1\x43")), false},
		{"another DDP version", v4(tcp("\x00\x20\x42\x43")), false},
		{"another RDMAP version", v4(tcp("\x00\x20\x41\x03")), false},
		{"IPv6", v6(set(0)), true},
		{"IPv6 with a Hop-by-Hop header", v6(set(6, 0)), true},
		{"IPv6 with Destination Options", v6(set(6, 60)), true},
		{"a fragment over IPv6", v6(set(6, 44)), true},
		{"GRE over IPv6", v6(set(6, 47)), true},
		{"IPv6 in IPv6", v6(set(6, 41)), true},
		{"VXLAN over IPv6", v6(port(4789)), true},
		{"ICMPv6", v6(set(6, 58)), false},
		{"HTTP over TCP over IPv6", v6(tcp("HTTP/1.1 200 OK\r\n")), false},
		{"an MPA start frame over IPv6", v6(tcp("MPA ID Req Frame")), true},
		{"DNS over IPv6", v6(port(53)), false},
		{"zeros", make([]byte, 28), false},
		{"IP version 5", v4(set(0, 0x55)), false},
		{"less than a header", v4(set(0))[:8], false},
		{"no byte", nil, false},
	} {
		if got := passes(t, raw, test.packet); got != test.passes {
			t.Errorf("%s: passes %v", test.rule, got)
		}
		for tags := range 10 {
			frame := make([]byte, 12)
			for range tags {
				frame = append(frame, 0x81, 0, 0, 7)
			}
			kind := []byte{8, 0}
			if len(test.packet) > 0 && test.packet[0]>>4 == 6 {
				kind = []byte{0x86, 0xdd}
			}
			frame = append(append(frame, kind...), test.packet...)
			if got := passes(t, ethernet, frame); got != (test.passes && tags <= 8) {
				t.Errorf("%s in Ethernet with %d VLAN tags: passes %v", test.rule, tags, got)
			}
		}
	}
}

func TestFilterByEtherType(t *testing.T) {
	vm := machine(t, true)
	for _, test := range []struct {
		rule      string
		etherType uint16
		passes    bool
	}{
		{"RoCEv1", 0x8915, true}, {"MAC control", 0x8808, true}, {"MPLS", 0x8847, true},
		{"MPLS multicast", 0x8848, true}, {"ARP", 0x0806, false}, {"LLDP", 0x88cc, false},
		{"IEEE 802.3 length", 100, false}, {"MACsec", 0x88e5, false},
	} {
		for _, tag := range []uint16{0, 0x8100, 0x88a8, 0x9100, 0x9200} {
			frame := make([]byte, 12)
			if tag != 0 {
				frame = append(binary.BigEndian.AppendUint16(frame, tag), 0, 7)
			}
			frame = append(binary.BigEndian.AppendUint16(frame, test.etherType), make([]byte, 46)...)
			if got := passes(t, vm, frame); got != test.passes {
				t.Errorf("%s, tag %#04x: passes %v", test.rule, tag, got)
			}
		}
	}
}

// seen are the packets of frames, as text, by frame number.
type seen struct {
	decoder trace.Decoder
	packets map[int][]string
	// inexact has the frames that only name a connection of iWARP: without the beginning of an
	// FPDU.
	inexact map[int]bool
}

func newSeen() *seen {
	s := &seen{packets: map[int][]string{}, inexact: map[int]bool{}}
	s.decoder.Foreign = func(f *trace.Foreign) {
		if m := f.MPA; m != nil && (m.Kind == iwarp.Rest || m.Kind == iwarp.Unsynced) {
			s.inexact[f.Number] = true
			return
		}
		s.packets[f.Number] = append(s.packets[f.Number], f.Meaning)
	}
	return s
}

func (s *seen) frame(f *capture.Frame) {
	s.decoder.Decode(f, func(p *trace.Packet) {
		s.packets[f.Number] = append(s.packets[f.Number], fmt.Sprintf("%v %v %v %v %d bytes, %d layers, %v", p.Fabric,
			p.Src, p.Dst, p.BTH.Opcode, p.Len, len(p.Outer), p.Err))
	})
}

// testdata are the captures of packages trace and trace/ulp with Ethernet headers.
func testdata(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"", "tunnels", "specs", "iwarp", "ulp"} {
		for _, suffix := range []string{"*.pcap", "*.pcap.gz"} {
			names, err := filepath.Glob(filepath.Join("..", "testdata", dir, suffix))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, names...)
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d captures", len(all))
	}
	return all
}

func open(t testing.TB, name string) *capture.Reader {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var in io.Reader = bytes.NewReader(b)
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			t.Fatal(err)
		}
	}
	r, err := capture.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A live capture shows what a file shows: the packets of the frames that pass the filter are those
// of all frames.
func TestAllPacketsOfTheCapturesPassTheFilter(t *testing.T) {
	ethernet, raw := machine(t, true), machine(t, false)
	frames, found := 0, 0
	for _, name := range testdata(t) {
		file, live := newSeen(), newSeen()
		r := open(t, name)
		for f, err := range r.Frames() {
			if err != nil {
				t.Fatal(name, err)
			}
			vm := ethernet
			switch f.Link {
			case capture.LinkEthernet:
			case capture.LinkRaw:
				vm = raw
			default:
				continue // InfiniBand and ERF are not captured on an interface
			}
			frames++
			file.frame(f)
			if passes(t, vm, f.Data) {
				live.frame(f)
			}
		}
		for n, want := range file.packets {
			if name == filepath.Join("..", "testdata", "specs", "iwarp.pcap") && n == 9 {
				continue // ends an FPDU, and the next one begins in it: see the package documentation
			}
			found++
			got := live.packets[n]
			if !slices.Equal(got, want) {
				t.Errorf("%s, frame %d: live %q, in the file %q", name, n, got, want)
			}
		}
		for n := range live.packets {
			if file.packets[n] == nil {
				t.Errorf("%s, frame %d: live only", name, n)
			}
		}
		for n := range file.inexact {
			if !strings.Contains(name, "iwarp") {
				t.Errorf("%s, frame %d: not the beginning of an FPDU", name, n)
			}
		}
	}
	if frames < 600 || found < 600 {
		t.Errorf("%d frames, %d with packets", frames, found)
	}
}

func TestOtherProtocolsDoNotPassTheFilter(t *testing.T) {
	vm := machine(t, true)
	r := open(t, filepath.Join("..", "testdata", "specs", "others.pcap"))
	n := 0
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; passes(t, vm, f.Data) {
			t.Errorf("frame %d passes", f.Number)
		}
	}
	if n != 10 {
		t.Errorf("%d frames", n)
	}
}
