package wire

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// netOff is SKF_NET_OFF of linux/filter.h: offsets from there on are relative to the network
// header.
const netOff = 1<<32 - 0x100000

// adPacketType is the offset of the packet type in the kernel's metadata (SKF_AD_PKTTYPE).
const adPacketType = 1<<32 - 0x1000 + 4

// filter is a classic BPF program. A test that fails jumps to the next part, whose first index is
// not known yet.
type filter struct {
	code  []bpf.Instruction
	jumps []int // of the current part, to the next one
}

// want appends a test: the part matches only if the loaded value equals v.
func (f *filter) want(v uint32, load bpf.Instruction) {
	f.code = append(f.code, load)
	f.jumps = append(f.jumps, len(f.code))
	f.code = append(f.code, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v})
}

func (f *filter) wantBytes(at uint32, b []byte) {
	for i := 0; i < len(b); i += 4 {
		f.want(binary.BigEndian.Uint32(b[i:]), bpf.LoadAbsolute{Off: at + uint32(i), Size: 4})
	}
}

// accept ends a part: a packet that passed all its tests is received.
func (f *filter) accept() {
	f.code = append(f.code, bpf.RetConstant{Val: 1 << 30})
	for _, i := range f.jumps {
		j := f.code[i].(bpf.JumpIf)
		j.SkipFalse = uint8(len(f.code) - 1 - i)
		f.code[i] = j
	}
	f.jumps = nil
}

// rawFilter returns a socket filter that accepts packets for this host: UDP datagrams to addr port
// 4791, first fragments included, and RoCEv1 frames whose destination GID is addr.
func rawFilter(addr netip.Addr) ([]bpf.RawInstruction, error) {
	var f filter
	kind := bpf.LoadExtension{Num: bpf.ExtProto}
	host := bpf.LoadAbsolute{Off: adPacketType, Size: 4}
	f.want(unix.PACKET_HOST, host)
	if addr.Is4() {
		f.want(unix.ETH_P_IP, kind)
		f.want(unix.IPPROTO_UDP, bpf.LoadAbsolute{Off: netOff + 9, Size: 1})
		f.wantBytes(netOff+16, addr.AsSlice())
		f.code = append(f.code, bpf.LoadMemShift{Off: netOff}) // X = length of the IP header
		f.want(Port, bpf.LoadIndirect{Off: netOff + 2, Size: 2})
	} else {
		f.want(unix.ETH_P_IPV6, kind)
		f.want(unix.IPPROTO_UDP, bpf.LoadAbsolute{Off: netOff + 6, Size: 1})
		f.wantBytes(netOff+24, addr.AsSlice())
		f.want(Port, bpf.LoadAbsolute{Off: netOff + ip6Len + 2, Size: 2})
	}
	f.accept()
	f.want(unix.PACKET_HOST, host)
	f.want(etherTypeV1, kind)
	gid := addr.As16()
	f.wantBytes(netOff+24, gid[:])
	f.accept()
	return bpf.Assemble(append(f.code, bpf.RetConstant{Val: 0}))
}
