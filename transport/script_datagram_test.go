package transport

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// Steps for datagrams:
//
//	post send ... [to=0x22] [qkey=0x55] [by=1] [noah]   destination, Q_Key; link of the path
//	< UD_SEND_ONLY ... [qkey=0x55] [from=0x22]
//	> UD_SEND_ONLY ... to=0x22 qkey=0x55 by=0
//	wc 1 SUCCESS RECV len=44 from=0x22
//
// The path MTU is 256 on link 0 and 512 on link 1. The Q_Key of the machine is 0x55.
const scriptQKey = 0x55

func (f args) or(name string, otherwise uint64) uint64 {
	if f.has(name) {
		return f.num(name)
	}
	return otherwise
}

// address sets the destination of a datagram.
func (s *script) address(wr *qp.SendWR, f args) {
	link := int(f.num("by"))
	dst := netip.AddrFrom4([4]byte{192, 0, 2, byte(link)})
	if !f.has("noah") {
		wr.AH = NewAH(s.qp.PD, qp.AddressVector{}, link, packet.Path{Dst: dst}, qp.MTU(256*(link+1)), nil)
	}
	wr.RemoteQPN = bth.QPN(f.or("to", 0x22))
	wr.RemoteQKey = uint32(f.or("qkey", scriptQKey))
}

// datagramHeader formats the fields particular to a datagram that was sent.
func datagramHeader(f *packet.Frame, p *bth.Packet) string {
	if p.Opcode.Info().Headers&bth.HasDETH == 0 {
		return ""
	}
	by := "no link"
	if f.Path != nil {
		by = fmt.Sprint(f.Path.Dst.As4()[3])
	}
	l := fmt.Sprintf(" to=%#x qkey=%#x by=%s", uint32(p.DestQP), p.DETH.QKey, by)
	if p.DETH.SrcQP != 0x11 {
		l += fmt.Sprintf(" source QPN %#x", uint32(p.DETH.SrcQP))
	}
	return l
}

// datagramWC formats the fields particular to the completion of a datagram.
func datagramWC(wc *qp.WC) string {
	if wc.Flags&qp.GRH == 0 {
		return ""
	}
	return fmt.Sprintf(" from=%#x", uint32(wc.SrcQP))
}

func datagramDETH(f args) bth.DETH {
	return bth.DETH{QKey: uint32(f.or("qkey", scriptQKey)), SrcQP: bth.QPN(f.or("from", 0x22))}
}
