package gobackn_test

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/internal/gobackn"
)

// feeder makes packets of the frames of a simulation.
type feeder struct {
	r    *gobackn.Result
	wire bth.Packet
	data [4096]byte
	buf  []byte
	p    trace.Packet
}

var began = time.Unix(1_700_000_000, 0)

func address(host int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(host >> 16), byte(host >> 8), byte(host)})
}

// packet returns the packet of frame number n, from 1. It is valid until the next call.
func (f *feeder) packet(n int) *trace.Packet {
	r := &f.r.Frames[n-1]
	src, dst := r.Conn.Ends[r.From], r.Conn.Ends[1-r.From]
	f.wire = bth.Packet{
		Opcode: r.Opcode, PKey: 0xffff, MigReq: true, DestQP: dst.QPN, PSN: r.PSN, AckReq: r.AckReq, AETH: r.AETH,
		Payload: f.data[:r.Len], BECN: r.Opcode == bth.CNP,
	}
	if m := r.Message; m != nil && r.Request() {
		va := uint64(0x10000*m.Len) + uint64(int(r.PSN.Diff(m.First))*f.r.Config.MTU)
		f.wire.RETH = bth.RETH{VA: va, RKey: 0x1234, DMALen: uint32(r.DMALen)}
		f.wire.AtomicETH = bth.AtomicETH{VA: va &^ 7, RKey: 0x1234, SwapAdd: 1}
	}
	f.buf = append(f.wire.Append(f.buf[:0]), 0, 0, 0, 0)
	p := &f.p
	*p = trace.Packet{
		Number: n, Part: 1, Parts: 1, Time: began.Add(time.Duration(r.Time)),
		Src: netip.AddrPortFrom(address(src.Host), src.Port), Dst: netip.AddrPortFrom(address(dst.Host), 4791),
		IP:   trace.IP{Version: 4, TrafficClass: 2, ID: r.ID},
		ICRC: trace.ICRC{Verdict: trace.Right}, Bytes: f.buf, Len: len(f.buf),
	}
	if r.CE {
		p.IP.TrafficClass = 3
	}
	p.Err = p.BTH.Decode(p.Bytes)
	return p
}
