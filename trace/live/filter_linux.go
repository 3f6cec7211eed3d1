package live

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets of linux/filter.h: netOff (SKF_NET_OFF) is the offset of the network header,
// adPacketType (SKF_AD_OFF + SKF_AD_PKTTYPE) returns the packet type.
const (
	netOff       = 1<<32 - 0x100000
	adPacketType = 1<<32 - 0x1000 + 4
)

const (
	rocePort  = 4791
	ipv6Len   = 40
	wholeData = 1<<31 - 1 // filter result: capture all bytes of the packet
)

// filterFor returns a socket filter that accepts UDP datagrams to port 4791 over IPv4, and over
// IPv6 without extension headers. Of a fragmented IPv4 datagram it accepts the first fragment. at
// is the offset of the IP header. On a loopback interface every packet is seen twice, outgoing and
// incoming; the filter accepts only the incoming one.
func filterFor(at uint32, loopback bool) ([]bpf.RawInstruction, error) {
	var c []bpf.Instruction
	if loopback {
		c = append(c, bpf.LoadAbsolute{Off: adPacketType, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: toDrop})
	}
	c = append(c,
		bpf.LoadAbsolute{Off: at, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 6, SkipTrue: 8},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 4, SkipFalse: toDrop},
		// IPv4
		bpf.LoadAbsolute{Off: at + 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipFalse: toDrop},
		bpf.LoadAbsolute{Off: at + 6, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: 0x1fff, SkipTrue: toDrop},
		bpf.LoadMemShift{Off: at},
		bpf.LoadIndirect{Off: at + 2, Size: 2},
		bpf.Jump{Skip: 3},
		// IPv6
		bpf.LoadAbsolute{Off: at + 6, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.IPPROTO_UDP, SkipFalse: toDrop},
		bpf.LoadAbsolute{Off: at + ipv6Len + 2, Size: 2},
		// Both versions: check the destination port.
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: rocePort, SkipFalse: toDrop},
		bpf.RetConstant{Val: wholeData},
		bpf.RetConstant{Val: 0},
	)
	for i, in := range c {
		if j, ok := in.(bpf.JumpIf); ok {
			end := uint8(len(c) - 2 - i)
			if j.SkipTrue == toDrop {
				j.SkipTrue = end
			}
			if j.SkipFalse == toDrop {
				j.SkipFalse = end
			}
			c[i] = j
		}
	}
	return bpf.Assemble(c)
}

// toDrop is a placeholder for a jump to the final instruction, which drops the packet.
const toDrop = 0xff
