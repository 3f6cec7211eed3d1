package scene

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// Many returns at least n packets: WRITEs of eight packets on alternating connections. The last
// packet of every eleventh WRITE is retransmitted after a timeout.
func Many(n, connections int) *Script {
	s := New()
	psn := make([]bth.PSN, connections)
	for i := range connections {
		f := s.Flow(bth.ServiceRC,
			trace.End{Addr: netip.AddrFrom4([4]byte{192, 0, 2, 1}), QPN: bth.QPN(0x100 + i)},
			trace.End{Addr: netip.AddrFrom4([4]byte{198, 51, 100, byte(1 + i%250)}), QPN: bth.QPN(0x200 + i)})
		f.MTU = 1024
		psn[i] = bth.MaxPSN - 500 // the PSN wraps
	}
	for i := 0; len(s.Packets) < n; i++ {
		k := i % connections
		s.write(s.Flows[k], psn[k], i%11 == 5)
		psn[k] = psn[k].Add(8)
		s.After(20 * time.Microsecond)
	}
	return s
}

func (s *Script) write(f *trace.Flow, first bth.PSN, lossy bool) {
	m := s.Message(f, "RDMA WRITE", bth.OpWrite, first, 8, 8*64)
	part := make([]byte, 64)
	for i := range 8 {
		b := bth.Packet{Opcode: bth.RCWriteMiddle, PSN: first.Add(uint32(i)), Payload: part}
		switch i {
		case 0:
			b.Opcode, b.RETH = bth.RCWriteFirst, bth.RETH{VA: 0x7f00_0000_0000, RKey: 0x1234, DMALen: 8 * 64}
		case 7:
			b.Opcode, b.AckReq = bth.RCWriteLast, true
		}
		Of(m, s.Packet(f, 0, trace.Request, b, fmt.Sprintf("packet %d of 8 of WRITE %d", i+1, m.Number)))
		if lossy && i == 7 {
			s.After(4 * time.Millisecond)
			p := Of(m, s.Packet(f, 0, trace.Request, b,
				fmt.Sprintf("packet 8 of 8 of WRITE %d, retransmitted", m.Number)))
			p.Again = true
			find(p, trace.AfterTimeout, trace.Warning,
				"No acknowledgement came in 4 ms, so the packet was retransmitted.", p.Number-1, p.Number)
			m.Again++
			f.Again++
			f.Timeouts++
		}
	}
	Of(m, s.Packet(f, 1, trace.Ack, bth.Packet{Opcode: bth.RCAck, PSN: m.Last,
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: uint32(m.Number)}},
		fmt.Sprintf("acknowledges everything up to PSN %d", m.Last)))
	m.Done = true
}
