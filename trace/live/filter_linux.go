package live

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// adPacketType (SKF_AD_OFF + SKF_AD_PKTTYPE of linux/filter.h) is the offset that returns the
// packet type.
const adPacketType = 1<<32 - 0x1000 + 4

const (
	etherLen  = 14
	typeAt    = 12 // offset of the EtherType, and of the first VLAN tag
	vlanLen   = 4
	ipv6Len   = 40
	wholeData = 1<<31 - 1 // filter result: capture all bytes of the packet
)

// Labels of the filter.
const (
	toAccept  = "accept"
	toDrop    = "drop"
	toNetwork = "network"
	toIP      = "ip"
	toIPv6    = "ipv6"
	toUDPv4   = "udp over ipv4"
	toTCPv4   = "tcp over ipv4"
	toUDPv6   = "udp over ipv6"
	toTCPv6   = "tcp over ipv6"
	toPorts   = "ports"
	toTCP     = "tcp"
	toTagged  = "tagged"
	toUntag   = "untagged"
)

// filterFor returns a socket filter for frames that begin with an Ethernet header, or with an IP
// header if ethernet is not set. It accepts every frame in which trace.Decoder may find something:
// see the package documentation. On a loopback interface every packet is seen twice, outgoing and
// incoming; the filter accepts only the incoming one.
func filterFor(ethernet, loopback bool) ([]bpf.RawInstruction, error) {
	p := &program{}
	if loopback {
		p.add(bpf.LoadAbsolute{Off: adPacketType, Size: 4})
		p.when(bpf.JumpEqual, unix.PACKET_OUTGOING, toDrop)
	}
	// X is the number of bytes before the IP header, without base.
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 0})
	base := uint32(0)
	if ethernet {
		base = etherLen
		p.etherTypes()
	}
	p.ip(base)
	p.ports(base)
	p.iwarp(base)
	p.label(toAccept)
	p.add(bpf.RetConstant{Val: wholeData})
	p.label(toDrop)
	p.add(bpf.RetConstant{Val: 0})
	return p.assemble()
}

// etherTypes skips VLAN tags and decides by the EtherType.
func (p *program) etherTypes() {
	for i := range tunnel.MaxVLANs {
		tagged := toTagged + string(rune('0'+i))
		p.add(bpf.LoadIndirect{Off: typeAt, Size: 2})
		whenOneOf(p, tunnel.VLANTypes(), tagged)
		p.jump(toNetwork)
		p.label(tagged)
		p.advance(vlanLen)
	}
	p.add(bpf.LoadIndirect{Off: typeAt, Size: 2})
	p.label(toNetwork)
	whenOneOf(p, []uint16{tunnel.TypeIPv4, tunnel.TypeIPv6}, toIP)
	whenOneOf(p, []uint16{tunnel.TypeRoCEv1, tunnel.TypeMACControl, tunnel.TypeMPLS, tunnel.TypeMPLSMulti}, toAccept)
	p.jump(toDrop)
}

// advance adds n to X.
func (p *program) advance(n uint32) {
	p.add(bpf.TXA{}, bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: n}, bpf.TAX{})
}

// advanceA adds A to X.
func (p *program) advanceA() { p.add(bpf.ALUOpX{Op: bpf.ALUOpAdd}, bpf.TAX{}) }

// ip decides by the protocol of the IP header at X+base, and moves X behind it for UDP and TCP.
func (p *program) ip(base uint32) {
	p.label(toIP)
	p.add(bpf.LoadIndirect{Off: base, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4})
	p.when(bpf.JumpEqual, 6, toIPv6)
	p.when(bpf.JumpNotEqual, 4, toDrop)
	p.add(bpf.LoadIndirect{Off: base + 9, Size: 1})
	whenOneOf(p, tunnel.Protocols(), toAccept)
	p.when(bpf.JumpEqual, unix.IPPROTO_UDP, toUDPv4)
	p.when(bpf.JumpEqual, unix.IPPROTO_TCP, toTCPv4)
	p.jump(toDrop)
	for _, t := range [...]struct{ label, fragment, then string }{
		{toUDPv4, toAccept, toPorts}, // later fragments have no ports
		{toTCPv4, toDrop, toTCP},
	} {
		p.label(t.label)
		p.add(bpf.LoadIndirect{Off: base + 6, Size: 2})
		p.when(bpf.JumpBitsSet, 0x1fff, t.fragment)
		p.add(bpf.LoadIndirect{Off: base, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x0f},
			bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2})
		p.advanceA()
		p.jump(t.then)
	}
	p.label(toIPv6)
	p.add(bpf.LoadIndirect{Off: base + 6, Size: 1})
	whenOneOf(p, tunnel.Protocols(), toAccept)
	whenOneOf(p, tunnel.Extensions(), toAccept)
	p.when(bpf.JumpEqual, unix.IPPROTO_UDP, toUDPv6)
	p.when(bpf.JumpEqual, unix.IPPROTO_TCP, toTCPv6)
	p.jump(toDrop)
	p.label(toTCPv6)
	p.advance(ipv6Len)
	p.jump(toTCP)
	p.label(toUDPv6)
	p.advance(ipv6Len)
}

// ports decides by the destination port of the UDP header at X+base.
func (p *program) ports(base uint32) {
	p.label(toPorts)
	p.add(bpf.LoadIndirect{Off: base + 2, Size: 2})
	whenOneOf(p, append(tunnel.UDPPorts(), trace.Port, fabric.PortUET), toAccept)
	p.jump(toDrop)
}

// The first four bytes of an FPDU (RFC 5044, section 4.1; RFC 5041, section 4.1; RFC 5040, section
// 4.1): ULPDU_Length; T, L, four reserved bits and the DDP version; the RDMAP version, two reserved
// bits and the opcode.
const (
	fpduFixed   = 0x00003ff0 // reserved bits and versions
	fpduVersion = 0x00000140 // DDP version 1, RDMAP version 1
	fpduTagged  = 0x00008000
	fpduOpcode  = 0x0000000f

	mpaKey = 0x4d504120 // "MPA ", the first bytes of a start frame (RFC 5044, section 7.1)

	opWrite        = 0
	opReadResponse = 2
	opLast         = 11 // Atomic Response (RFC 7306)
)

// iwarp accepts a TCP segment at X+base whose payload begins with an MPA start frame or with the
// headers of an FPDU. One of about 2,000 segments with random contents is accepted, too.
func (p *program) iwarp(base uint32) {
	p.label(toTCP)
	p.add(bpf.LoadIndirect{Off: base + 12, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf0},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 2})
	p.advanceA()
	load := bpf.LoadIndirect{Off: base, Size: 4}
	p.add(load)
	p.when(bpf.JumpEqual, mpaKey, toAccept)
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: fpduFixed})
	p.when(bpf.JumpNotEqual, fpduVersion, toDrop)
	p.add(load)
	p.when(bpf.JumpBitsNotSet, fpduTagged, toUntag)
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: fpduOpcode})
	p.when(bpf.JumpEqual, opWrite, toAccept)
	p.when(bpf.JumpEqual, opReadResponse, toAccept)
	p.jump(toDrop)
	p.label(toUntag)
	p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: fpduOpcode})
	p.when(bpf.JumpEqual, opWrite, toDrop)
	p.when(bpf.JumpEqual, opReadResponse, toDrop)
	p.when(bpf.JumpGreaterThan, opLast, toDrop)
}
