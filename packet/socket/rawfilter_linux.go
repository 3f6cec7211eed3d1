package socket

import (
	"net/netip"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// netOff is SKF_NET_OFF of linux/filter.h: offsets from there on are relative to the IP header.
const netOff = 1<<32 - 0x100000

// Extensions of classic BPF in Linux (linux/filter.h) that package bpf does not name: packet type
// and interface index.
const (
	adOff          = 1<<32 - 0x1000
	adPacketType   = adOff + 4
	adInterface    = adOff + 8
	packetHost     = unix.PACKET_HOST
	passWholeFrame = 1<<31 - 1
)

// etherType returns the EtherType of packets to a.
func etherType(a netip.Addr) int {
	if a.Is4() {
		return encap.EtherTypeIPv4
	}
	return encap.EtherTypeIPv6
}

// filterCode is a BPF program. A test that fails jumps to the last instruction, which drops the
// packet.
type filterCode []bpf.Instruction

// want appends a test: the packet is dropped unless the accumulator equals value after the
// instructions load.
func (c *filterCode) want(value uint32, load ...bpf.Instruction) {
	*c = append(append(*c, load...), bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: dropLater})
}

// dropLater is the placeholder for the distance of a jump to the last instruction.
const dropLater = 0xff

// finish appends the instructions that accept and drop, resolves the jumps and assembles the
// program.
func (c filterCode) finish() ([]bpf.RawInstruction, error) {
	c = append(c, bpf.RetConstant{Val: passWholeFrame}, bpf.RetConstant{Val: 0})
	for i, in := range c {
		if j, ok := in.(bpf.JumpIf); ok && j.SkipFalse == dropLater {
			j.SkipFalse = uint8(len(c) - 2 - i)
			c[i] = j
		}
	}
	return bpf.Assemble(c)
}

// rawFilter returns a socket filter that accepts UDP datagrams to addr port 4791 that are for this
// host and arrived through one of the interfaces, or through any interface if interfaces is empty.
// at is the offset of the IP header in the packet.
func rawFilter(addr netip.Addr, interfaces []int, at uint32) ([]bpf.RawInstruction, error) {
	var c filterCode
	// Packets of other types are not for this host: promiscuous mode captured them, or this host
	// sends them.
	c.want(packetHost, bpf.LoadAbsolute{Off: adPacketType, Size: 4})
	if n := len(interfaces); n > 0 {
		c = append(c, bpf.LoadAbsolute{Off: adInterface, Size: 4})
		for i, index := range interfaces[:n-1] {
			c = append(c, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(index), SkipTrue: uint8(n - 1 - i)})
		}
		c.want(uint32(interfaces[n-1]))
	}
	return append(c, datagramFilter(addr, at)...).finish()
}

// datagramFilter returns the tests of the IP and UDP headers: a UDP datagram to addr port 4791.
func datagramFilter(addr netip.Addr, at uint32) (c filterCode) {
	const dstPort = 2 // in the UDP header
	if addr.Is4() {
		c.want(unix.IPPROTO_UDP, bpf.LoadAbsolute{Off: at + 9, Size: 1})
		c = append(c, bpf.LoadAbsolute{Off: at + 6, Size: 2}) // MF or fragment offset
		c = append(c, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: 0x3fff, SkipFalse: dropLater})
		a := addr.As4()
		c.wantWords(at+16, a[:])
		c = append(c, bpf.LoadMemShift{Off: at})
		c.want(packet.Port, bpf.LoadIndirect{Off: at + dstPort, Size: 2})
		return c
	}
	c.want(unix.IPPROTO_UDP, bpf.LoadAbsolute{Off: at + 6, Size: 1})
	a := addr.As16()
	c.wantWords(at+24, a[:])
	c.want(packet.Port, bpf.LoadAbsolute{Off: at + encap.IPv6Len + dstPort, Size: 2})
	return c
}

func (c *filterCode) wantWords(at uint32, b []byte) {
	for i := 0; i < len(b); i += 4 {
		word := uint32(b[i])<<24 | uint32(b[i+1])<<16 | uint32(b[i+2])<<8 | uint32(b[i+3])
		c.want(word, bpf.LoadAbsolute{Off: at + uint32(i), Size: 4})
	}
}
