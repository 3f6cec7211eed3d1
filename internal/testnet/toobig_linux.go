package testnet

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// TooBig makes the host from send an ICMP message to victim, an address of the host to. The message
// claims, true or not, that RoCEv2 packets from victim to dst exceed the path MTU, which is mtu.
// TooBig returns when the kernel of to has learned mtu. A socket of to must be bound to port 4791.
func TooBig(t testing.TB, from, to netns.NsHandle, victim, dst netip.Addr, mtu int) {
	t.Helper()
	In(t, from, func() error { return sendTooBig(victim, dst, mtu) })
	In(t, to, func() error {
		for range 10_000 {
			routes, err := netlink.RouteGet(dst.AsSlice())
			if err != nil {
				return err
			}
			if len(routes) > 0 && routes[0].MTU == mtu {
				return nil
			}
			runtime.Gosched()
		}
		return fmt.Errorf("the kernel has not learned that the path to %v takes %d bytes", dst, mtu)
	})
}

// sendTooBig sends the message, which quotes the header of a packet from victim to dst.
func sendTooBig(victim, dst netip.Addr, mtu int) error {
	const port, quoted = 4791, 1000
	udp := binary.BigEndian.AppendUint16(nil, port)
	udp = binary.BigEndian.AppendUint16(udp, port)
	udp = binary.BigEndian.AppendUint16(udp, quoted)
	udp = append(udp, 0, 0)
	var b []byte
	network := "ip4:icmp"
	if victim.Is4() {
		b = append(b, unreachable, fragmentationNeeded, 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(mtu))
		b = append(b, 0x45, 0, (20+quoted)>>8, (20+quoted)&0xff, 0, 0, 0x40, 0, 64, unix.IPPROTO_UDP, 0, 0)
	} else {
		network = "ip6:ipv6-icmp" // the kernel computes the checksum
		b = append(b, packetTooBig, 0, 0, 0)
		b = binary.BigEndian.AppendUint32(b, uint32(mtu))
		b = append(b, 0x60, 0, 0, 0, quoted>>8, quoted&0xff, unix.IPPROTO_UDP, 64)
	}
	b = append(append(b, victim.AsSlice()...), dst.AsSlice()...)
	b = append(b, udp...)
	if victim.Is4() {
		binary.BigEndian.PutUint16(b[8+10:], checksum(b[8:28]))
		binary.BigEndian.PutUint16(b[2:], checksum(b))
	}
	c, err := net.Dial(network, victim.String())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write(b)
	return err
}

// Types and codes of ICMP and ICMPv6.
const (
	unreachable         = 3
	fragmentationNeeded = 4
	packetTooBig        = 2
)

// checksum returns the Internet checksum of b (RFC 1071), which must have an even length.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
