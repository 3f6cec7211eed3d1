package xsk

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"

	"github.com/cilium/ebpf"
)

const testPort = 4791

var ours = []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1"),
	netip.MustParseAddr("fe80::1")}

// testTable is a program that drops the frames that it would redirect, as its map contains no
// socket. This distinguishes them from the frames that it passes.
func testTable(t testing.TB) *table {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("loading an XDP program takes root")
	}
	tab, err := newTable(testPort, 2, true, xdpDrop)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tab.close)
	for i, a := range ours {
		if err := tab.enter(a, i, nil); err != nil {
			t.Fatal(err)
		}
	}
	return tab
}

// redirects runs the program on frame.
func (t *table) redirects(tb testing.TB, frame []byte) bool {
	tb.Helper()
	verdict, err := t.program.Run(&ebpf.RunOptions{Data: frame})
	if err != nil {
		tb.Fatalf("running the program on % x: %v", frame, err)
	}
	switch verdict {
	case xdpDrop:
		return true
	case xdpPass:
		return false
	}
	tb.Fatalf("the program says %d to % x", verdict, frame)
	return false
}

// isOurs is the rule that the program implements.
func isOurs(frame []byte, addrs []netip.Addr) bool {
	if len(frame) < 14 {
		return false
	}
	var dst netip.Addr
	var udp []byte
	switch ip := frame[14:]; binary.BigEndian.Uint16(frame[12:]) {
	case 0x0800:
		if len(ip) < 28 || ip[0] != 0x45 || binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 || ip[9] != 17 {
			return false
		}
		dst, udp = netip.AddrFrom4([4]byte(ip[16:])), ip[20:]
	case 0x86dd:
		if len(ip) < 48 || ip[0]>>4 != 6 || ip[6] != 17 {
			return false
		}
		dst, udp = netip.AddrFrom16([16]byte(ip[24:])), ip[40:]
	default:
		return false
	}
	for _, a := range addrs {
		// To the program, an IPv4 address equals its IPv4-mapped form, which never occurs in
		// packets.
		if a == dst.Unmap() {
			return binary.BigEndian.Uint16(udp[2:]) == testPort
		}
	}
	return false
}

// frame4 and frame6 return frames to us.
func frame4() []byte {
	f := make([]byte, 14+20+8+16)
	binary.BigEndian.PutUint16(f[12:], 0x0800)
	f[14], f[14+6], f[14+8], f[14+9] = 0x45, 0x40, 64, 17
	copy(f[14+16:], ours[0].AsSlice())
	binary.BigEndian.PutUint16(f[14+20+2:], testPort)
	return f
}

func frame6() []byte {
	f := make([]byte, 14+40+8+16)
	binary.BigEndian.PutUint16(f[12:], 0x86dd)
	f[14], f[14+6], f[14+7] = 0x60, 17, 64
	copy(f[14+24:], ours[1].AsSlice())
	binary.BigEndian.PutUint16(f[14+40+2:], testPort)
	return f
}

// change returns frame with b at offset at.
func change(frame []byte, at int, b ...byte) []byte {
	copy(frame[at:], b)
	return frame
}

// tagged returns frame with a VLAN tag.
func tagged(frame []byte) []byte {
	return append(append(append([]byte(nil), frame[:12]...), 0x81, 0, 0, 7), frame[12:]...)
}

var frames = []struct {
	name  string
	frame []byte
	ours  bool
}{
	{"IPv4 to us", frame4(), true},
	{"IPv4 to us with all marks", change(frame4(), 15, 0xff), true},
	{"IPv4 to us that may be fragmented", change(frame4(), 20, 0), true},
	{"IPv4 to another address", change(frame4(), 14+19, 2), false},
	{"IPv4 to another port", change(frame4(), 14+20+3, 0xb8), false},
	{"IPv4 from our port", change(frame4(), 14+20, 0x12, 0xb7, 0, 53), false},
	{"IPv4 with options", change(frame4(), 14, 0x46), false},
	{"IPv4 with a header too short", change(frame4(), 14, 0x44), false},
	{"IPv4 first fragment", change(frame4(), 20, 0x20), false},
	{"IPv4 later fragment", change(frame4(), 20, 0, 1), false},
	{"IPv4 later fragment, far", change(frame4(), 20, 0x10, 0), false},
	{"IPv4 TCP", change(frame4(), 23, 6), false},
	{"IPv4 ICMP", change(frame4(), 23, 1), false},
	{"IPv4 cut in its UDP header", frame4()[:14+20+7], false},
	{"IPv4 as long as its headers", frame4()[:14+20+8], true},
	{"IPv4 in a VLAN", tagged(frame4()), false},
	{"IPv4 under another EtherType", change(frame4(), 12, 0x88, 0xcc), false},
	{"IPv4 under the EtherType of IPv6", change(frame4(), 12, 0x86, 0xdd), false},
	{"IPv6 to us", frame6(), true},
	{"IPv6 to our link-local address", change(frame6(), 14+24, ours[2].AsSlice()...), true},
	{"IPv6 to us with class and label", change(frame6(), 14, 0x6f, 0xff, 0xff, 0xff), true},
	{"IPv6 to another address", change(frame6(), 14+24+15, 2), false},
	{"IPv6 to another port", change(frame6(), 14+40+2, 0), false},
	{"IPv6 with hop-by-hop options", change(frame6(), 20, 0), false},
	{"IPv6 fragment", change(frame6(), 20, 44), false},
	{"IPv6 TCP", change(frame6(), 20, 6), false},
	{"IPv6 ICMP", change(frame6(), 20, 58), false},
	{"IPv6 of another version", change(frame6(), 14, 0x40), false},
	{"IPv6 cut in its UDP header", frame6()[:14+40+7], false},
	{"IPv6 as long as its headers", frame6()[:14+40+8], true},
	{"IPv6 in a VLAN", tagged(frame6()), false},
	{"ARP", change(frame4(), 12, 0x08, 0x06), false},
	{"a header of Ethernet and nothing more", frame4()[:14], false},
}

func TestProgramRedirectsOurTrafficAndNothingElse(t *testing.T) {
	tab := testTable(t)
	for _, c := range frames {
		if got := tab.redirects(t, c.frame); got != c.ours {
			t.Errorf("%s: redirected is %v, want %v", c.name, got, c.ours)
		}
		if got := isOurs(c.frame, ours); got != c.ours {
			t.Errorf("%s: the rule in Go says %v, want %v", c.name, got, c.ours)
		}
	}
}

func TestProgramPassesWhatWasOursOnceTheAddressIsGone(t *testing.T) {
	tab := testTable(t)
	if err := tab.leave(ours[0]); err != nil {
		t.Fatal(err)
	}
	if tab.redirects(t, frame4()) {
		t.Error("an address that left is still redirected")
	}
	if !tab.redirects(t, frame6()) {
		t.Error("an address that stayed is not redirected")
	}
	if err := tab.leave(ours[0]); err != nil {
		t.Errorf("leaving again: %v", err)
	}
	if err := tab.enter(ours[0], 7, nil); err != nil {
		t.Fatal(err)
	}
	if !tab.redirects(t, frame4()) {
		t.Error("an address that came back is not redirected")
	}
}

func TestProgramWithoutSocketsPasses(t *testing.T) {
	testTable(t)
	tab, err := newTable(testPort, 1, false, xdpPass)
	if err != nil {
		t.Fatal(err)
	}
	defer tab.close()
	if err := tab.enter(ours[0], 0, nil); err != nil {
		t.Fatal(err)
	}
	if tab.redirects(t, frame4()) {
		t.Error("a frame for which there is no socket is not passed")
	}
}

// Its index in the map of sockets would be that of another address.
func TestProgramPassesWhatComesByAQueueWithoutSockets(t *testing.T) {
	tab := testTable(t)
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.XDP, License: "Apache-2.0", Instructions: instructions(tab.addrs, tab.sockets, testPort, 0, xdpDrop),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if (&table{program: p}).redirects(t, frame4()) {
		t.Error("a frame of queue 0 is redirected by a program for no queues")
	}
}

// FuzzProgram compares the program with the rule in Go.
func FuzzProgram(f *testing.F) {
	for _, c := range frames {
		f.Add(c.frame)
	}
	tab := testTable(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		// The kernel runs a program only on frames of at least an Ethernet header.
		if len(frame) < 14 || len(frame) > 3000 {
			t.Skip()
		}
		if got, want := tab.redirects(t, frame), isOurs(frame, ours); got != want {
			t.Errorf("redirected is %v, want %v: % x", got, want, frame)
		}
	})
}
