package encap_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/gorxe/gorxe/packet/encap"
)

var (
	header4 = encap.Header{
		DstMAC: encap.MAC{2, 0, 0, 0, 0, 2}, SrcMAC: encap.MAC{2, 0, 0, 0, 0, 1},
		Src: netip.MustParseAddr("198.18.0.1"), Dst: netip.MustParseAddr("198.18.0.2"),
		SrcPort: 0xc123, ID: 0xbeef, FlagsFragment: 0x4000, TrafficClass: 0x2e, HopLimit: 63,
	}
	header6 = encap.Header{
		DstMAC: encap.MAC{2, 0, 0, 0, 0, 2}, SrcMAC: encap.MAC{2, 0, 0, 0, 0, 1},
		Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8:f00f::2"),
		SrcPort: 0xc123, TrafficClass: 0xab, HopLimit: 1, FlowLabel: 0x9abcd,
	}
	headers = map[string]encap.Header{"IPv4": header4, "IPv6": header6}
)

// frame returns payload with the headers h.
func frame(h encap.Header, payload string) []byte {
	b := make([]byte, h.Len(), h.Len()+len(payload))
	h.Put(b, len(payload))
	return append(b, payload...)
}

func TestWhatIsPutIsDecoded(t *testing.T) {
	for name, h := range headers {
		for _, payload := range []string{"", "x", "twelve bytes"} {
			got, err := encap.DecodeEthernet(append(frame(h, payload), "padding of short frames"...))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := encap.Datagram{
				Data: []byte(payload), Src: h.Src, Dst: h.Dst, SrcPort: h.SrcPort, ID: h.ID,
				FlagsFragment: h.FlagsFragment, TrafficClass: h.TrafficClass, HopLimit: h.HopLimit,
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
				cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// An independent decoder reads every field as intended.
func TestHeadersAreThoseOfTheStandards(t *testing.T) {
	for name, h := range headers {
		p := gopacket.NewPacket(frame(h, "payload"), layers.LayerTypeEthernet, gopacket.Default)
		eth := p.Layer(layers.LayerTypeEthernet).(*layers.Ethernet)
		if !bytes.Equal(eth.DstMAC, h.DstMAC[:]) || !bytes.Equal(eth.SrcMAC, h.SrcMAC[:]) {
			t.Errorf("%s: from %v to %v", name, eth.SrcMAC, eth.DstMAC)
		}
		if ip, ok := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4); ok {
			got := fmt.Sprint(ip.SrcIP, ip.DstIP, ip.Id, ip.Flags, ip.FragOffset, ip.TOS, ip.TTL,
				ip.Protocol, ip.Length)
			if want := "198.18.0.1 198.18.0.2 48879 DF 0 46 63 UDP 35"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			// gopacket computes the checksum of the header that it decoded.
			buf := gopacket.NewSerializeBuffer()
			was := ip.Checksum
			if err := ip.SerializeTo(buf, gopacket.SerializeOptions{ComputeChecksums: true}); err != nil ||
				ip.Checksum != was {
				t.Errorf("header checksum %#x, want %#x (%v)", was, ip.Checksum, err)
			}
		} else {
			ip := p.Layer(layers.LayerTypeIPv6).(*layers.IPv6)
			got := fmt.Sprint(ip.SrcIP, ip.DstIP, ip.TrafficClass, ip.FlowLabel, ip.HopLimit, ip.NextHeader, ip.Length)
			if want := "2001:db8::1 2001:db8:f00f::2 171 633805 1 UDP 15"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		udp := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		if udp.SrcPort != 0xc123 || udp.DstPort != encap.Port || udp.Length != 15 || udp.Checksum != 0 ||
			string(udp.Payload) != "payload" {
			t.Errorf("%s: %+v", name, udp)
		}
	}
}

// A device that completes a checksum adds the sum of the UDP datagram to the value it finds
// there.
func TestPseudoChecksumIsWhatADeviceCompletes(t *testing.T) {
	for name, h := range headers {
		b := frame(h, "even number!")
		encap.PutPseudoChecksum(b[:h.Len()])
		udp := b[h.Len()-encap.UDPLen:]
		s := uint32(0)
		for i := 0; i < len(udp); i += 2 {
			s += uint32(udp[i])<<8 | uint32(udp[i+1])
		}
		for s > 0xffff {
			s = s>>16 + s&0xffff
		}
		p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
		l := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		if err := l.SetNetworkLayerForChecksum(p.NetworkLayer()); err != nil {
			t.Fatal(err)
		}
		l.Checksum = 0
		buf := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{ComputeChecksums: true}, l,
			gopacket.Payload("even number!")); err != nil {
			t.Fatal(err)
		}
		if got := ^uint16(s); got != l.Checksum {
			t.Errorf("%s: completed to %#x, want %#x", name, got, l.Checksum)
		}
	}
}

func TestWhatIsNoDatagramIsRefused(t *testing.T) {
	change := func(at int, to ...byte) func([]byte) []byte {
		return func(b []byte) []byte { copy(b[at:], to); return b }
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	for _, test := range []struct {
		rule string
		h    encap.Header
		do   func([]byte) []byte
		want error
	}{
		{"nothing", header4, cut(0), encap.ErrTruncated},
		{"less than an Ethernet header", header4, cut(13), encap.ErrTruncated},
		{"an Ethernet header alone", header4, cut(14), encap.ErrTruncated},
		{"less than an IPv4 header", header4, cut(33), encap.ErrTruncated},
		{"less than an IPv6 header", header6, cut(53), encap.ErrTruncated},
		{"an IPv4 datagram cut short", header4, cut(48), encap.ErrTruncated},
		{"an IPv6 datagram cut short", header6, cut(68), encap.ErrTruncated},
		{"ARP", header4, change(12, 0x08, 0x06), encap.ErrNotRoCE},
		{"IPv4 that says it is IPv6", header4, change(12, 0x86, 0xdd), encap.ErrHeader},
		{"IPv6 that says it is IPv4", header6, change(12, 0x08, 0x00), encap.ErrHeader},
		{"an IPv4 header of 16 bytes", header4, change(14, 0x44), encap.ErrHeader},
		{"an IPv4 packet shorter than its header", header4, change(16, 0, 19), encap.ErrHeader},
		{"another hop limit than was summed", header4, change(22, 62), encap.ErrChecksum},
		{"TCP over IPv4", header4, change(23, 6), encap.ErrNotRoCE},
		{"TCP over IPv6", header6, change(20, 6), encap.ErrNotRoCE},
		{"an IPv6 extension header", header6, change(20, 0), encap.ErrNotRoCE},
		{"another port", header4, change(36, 0x12, 0xb8), encap.ErrNotRoCE},
		{"a UDP length below 8", header4, change(38, 0, 7), encap.ErrHeader},
		{"a UDP length past the packet", header6, change(58, 1, 0), encap.ErrTruncated},
		{"an IPv4-mapped source over IPv6", header6, change(22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff),
			encap.ErrHeader},
		{"an IPv6 packet too short for UDP", header6, change(18, 0, 7), encap.ErrTruncated},
	} {
		if _, err := encap.DecodeEthernet(test.do(frame(test.h, "payload"))); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.rule, err, test.want)
		}
	}
	for _, flags := range []uint16{0x2000, 0x0001} {
		h := header4
		h.FlagsFragment = flags
		if _, err := encap.DecodeEthernet(frame(h, "payload")); !errors.Is(err, encap.ErrFragment) {
			t.Errorf("flags %#x: %v, want ErrFragment", flags, err)
		}
	}
	if _, err := encap.DecodeIP([]byte{0x50, 0, 0, 0}); !errors.Is(err, encap.ErrNotRoCE) {
		t.Errorf("IP version 5: %v", err)
	}
}

func TestIPv4OptionsAreRefused(t *testing.T) {
	ip := layers.IPv4{
		Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IPv4(198, 18, 0, 1),
		DstIP:   net.IPv4(198, 18, 0, 2),
		Options: []layers.IPv4Option{{OptionType: 1}, {OptionType: 1}, {OptionType: 1}, {OptionType: 1}},
	}
	udp := layers.UDP{SrcPort: 1, DstPort: encap.Port}
	if err := udp.SetNetworkLayerForChecksum(&ip); err != nil {
		t.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{ComputeChecksums: true, FixLengths: true}, &ip,
		&udp, gopacket.Payload("x")); err != nil {
		t.Fatal(err)
	}
	if d, err := encap.DecodeIP(buf.Bytes()); !errors.Is(err, encap.ErrHeader) {
		t.Errorf("%q, %v", d.Data, err)
	}
}

func TestMulticastMAC(t *testing.T) {
	for group, want := range map[string]string{
		"224.0.0.1":         "01:00:5e:00:00:01",
		"239.255.7.1":       "01:00:5e:7f:07:01",
		"ff0e::44:7:1":      "33:33:00:07:00:01",
		"ff02::1:ff12:3456": "33:33:ff:12:34:56",
	} {
		mac := encap.MulticastMAC(netip.MustParseAddr(group))
		if got := net.HardwareAddr(mac[:]).String(); got != want {
			t.Errorf("%s: %s, want %s", group, got, want)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for name, h := range headers {
		b := frame(h, "payload")
		if n := testing.AllocsPerRun(100, func() {
			h.Put(b, 7)
			encap.PutPseudoChecksum(b[:h.Len()])
			if _, err := encap.DecodeEthernet(b); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, h := range headers {
		f.Add(frame(h, "payload"))
		f.Add(frame(h, ""))
		f.Add(frame(h, "payload")[:h.Len()-1])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := encap.DecodeEthernet(b)
		if err != nil {
			if d.Data != nil {
				t.Errorf("data with %v", err)
			}
			return
		}
		// A decoded frame equals the frame that its fields describe, except fields that Put
		// never writes.
		h := encap.Header{
			Src: d.Src, Dst: d.Dst, SrcPort: d.SrcPort, ID: d.ID, FlagsFragment: d.FlagsFragment,
			TrafficClass: d.TrafficClass, HopLimit: d.HopLimit,
		}
		again, err := encap.DecodeEthernet(frame(h, string(d.Data)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, again, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
			cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}
