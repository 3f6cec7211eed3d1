package live

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets of linux/filter.h: from netOff on they count from the IP header, whatever stands before it; adPacketType is no place
// in the packet but its kind.
const (
	netOff       = 1<<32 - 0x100000
	adPacketType = 1<<32 - 0x1000 + 4
)

const (
	rocePort  = 4791
	ipv6Len   = 40
	wholeData = 1<<31 - 1
)

// filterFor is a socket filter that passes UDP datagrams to port 4791, over IPv4 and IPv6, and of fragments the first. Offsets
// count from at. What a loopback interface sends comes in again, and is passed only then.
func filterFor(at uint32, loopback bool) ([]bpf.RawInstruction, error) {
	var c []bpf.Instruction
	if loopback {
		c = append(c, bpf.LoadAbsolute{Off: adPacketType, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PACKET_OUTGOING, SkipTrue: toDrop})
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
		// The destination port of either.
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

// toDrop stands for a jump to the end, where the packet is dropped.
const toDrop = 0xff
