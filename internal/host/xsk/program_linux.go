package xsk

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// Return values of the program (enum xdp_action of linux/bpf.h).
const (
	xdpDrop = 1
	xdpPass = 2
)

// Offsets in struct xdp_md.
const (
	mdData    = 0
	mdDataEnd = 4
	mdQueue   = 16
)

// Lengths and offsets of header fields in a frame, in bytes.
const (
	ethLen  = 14
	ip4Len  = 20
	ip6Len  = 40
	udpLen  = 8
	etherAt = 12

	ip4FragmentAt = ethLen + 6
	ip4ProtocolAt = ethLen + 9
	ip4DstAt      = ethLen + 16
	ip4PortAt     = ethLen + ip4Len + 2

	ip6NextAt = ethLen + 6
	ip6DstAt  = ethLen + 24
	ip6PortAt = ethLen + ip6Len + 2
)

// keyLen is the length of an address in the map of the program: IPv6, or IPv4-mapped.
const keyLen = 16

// instructions returns the program. It redirects a frame with these properties: Ethernet; IPv4
// without options that is not a fragment, or IPv6 without extension headers; UDP to port;
// destination address in addrs. addrs maps the address to an index: the frame goes to the socket in
// sockets at this index plus the number of the receive queue. If there is no socket, the program
// returns missing; it passes all other frames to the host.
func instructions(addrs, sockets *ebpf.Map, port uint16, queues int, missing int64) asm.Instructions {
	const (
		ctx  = asm.R6
		data = asm.R2
		end  = asm.R3
		v    = asm.R4
	)
	key := func(word int) int16 { return int16(-keyLen + 4*word) }
	// fits passes the frame to the host if it has fewer than n bytes.
	fits := func(n int32) asm.Instructions {
		return asm.Instructions{
			asm.Mov.Reg(v, data),
			asm.Add.Imm(v, n),
			asm.JGT.Reg(v, end, "pass"),
		}
	}
	// keyWord copies four bytes of the frame to the key.
	keyWord := func(word int, at int16) asm.Instructions {
		return asm.Instructions{
			asm.LoadMem(v, data, at, asm.Word),
			asm.StoreMem(asm.RFP, key(word), v, asm.Word),
		}
	}
	var p asm.Instructions
	add := func(more ...asm.Instruction) { p = append(p, more...) }
	add(
		asm.Mov.Reg(ctx, asm.R1),
		asm.LoadMem(data, ctx, mdData, asm.Word),
		asm.LoadMem(end, ctx, mdDataEnd, asm.Word),
	)
	add(fits(ethLen)...)
	add(
		asm.LoadMem(v, data, etherAt, asm.Half),
		asm.JEq.Imm(v, wire16(unix.ETH_P_IP), "ipv4"),
		asm.JNE.Imm(v, wire16(unix.ETH_P_IPV6), "pass"),
	)

	add(fits(ethLen + ip6Len + udpLen)...)
	add(
		asm.LoadMem(v, data, ethLen, asm.Byte),
		asm.And.Imm(v, 0xf0),
		asm.JNE.Imm(v, 0x60, "pass"),
		asm.LoadMem(v, data, ip6NextAt, asm.Byte),
		asm.JNE.Imm(v, unix.IPPROTO_UDP, "pass"),
		asm.LoadMem(v, data, ip6PortAt, asm.Half),
		asm.JNE.Imm(v, wire16(port), "pass"),
	)
	for word := range 4 {
		add(keyWord(word, int16(ip6DstAt+4*word))...)
	}
	add(asm.Ja.Label("lookup"))

	ip4 := fits(ethLen + ip4Len + udpLen)
	ip4[0] = ip4[0].WithSymbol("ipv4")
	add(ip4...)
	add(
		asm.LoadMem(v, data, ethLen, asm.Byte),
		asm.JNE.Imm(v, 0x45, "pass"),
		asm.LoadMem(v, data, ip4FragmentAt, asm.Half),
		// More-fragments flag or fragment offset.
		asm.And.Imm(v, wire16(0x3fff)),
		asm.JNE.Imm(v, 0, "pass"),
		asm.LoadMem(v, data, ip4ProtocolAt, asm.Byte),
		asm.JNE.Imm(v, unix.IPPROTO_UDP, "pass"),
		asm.LoadMem(v, data, ip4PortAt, asm.Half),
		asm.JNE.Imm(v, wire16(port), "pass"),
		asm.StoreImm(asm.RFP, key(0), 0, asm.Word),
		asm.StoreImm(asm.RFP, key(1), 0, asm.Word),
		asm.StoreImm(asm.RFP, key(2), int64(int32(wire32(0xffff))), asm.Word),
	)
	add(keyWord(3, ip4DstAt)...)

	add(
		asm.LoadMapPtr(asm.R1, addrs.FD()).WithSymbol("lookup"),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -keyLen),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "pass"),
		asm.LoadMem(asm.R2, asm.R0, 0, asm.Word),
		asm.LoadMem(asm.R3, ctx, mdQueue, asm.Word),
		// A frame of a queue without sockets must not go to the socket of another address.
		asm.JGE.Imm(asm.R3, int32(queues), "pass"),
		asm.Add.Reg(asm.R2, asm.R3),
		asm.LoadMapPtr(asm.R1, sockets.FD()),
		asm.LoadImm(asm.R3, missing, asm.DWord),
		asm.FnRedirectMap.Call(),
		asm.Return(),
		asm.Mov.Imm(asm.R0, xdpPass).WithSymbol("pass"),
		asm.Return(),
	)
	return p
}

// wire16 returns the value of a 16-bit load in host byte order from v in network byte order.
func wire16(v uint16) int32 {
	return int32(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v)))
}

func wire32(v uint32) uint32 {
	return binary.NativeEndian.Uint32(binary.BigEndian.AppendUint32(nil, v))
}
