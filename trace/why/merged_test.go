package why

import (
	"encoding/binary"
	"io"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// apart is a source of connections whose two directions are flows of their own at first: their
// first acknowledgement answers no captured request.
type apart struct{ connections, frames int }

func (s *apart) Next(f *capture.Frame) error {
	connection, step := s.frames/4, s.frames%4
	if connection >= s.connections {
		return io.EOF
	}
	s.frames++
	p := bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x22, PSN: bth.PSN(step / 2), AckReq: true, PKey: 0xffff}
	src, dst := []byte{10, 1, byte(connection >> 8), byte(connection)}, []byte{10, 2, 0, 1}
	if step%2 == 1 {
		p = bth.Packet{Opcode: bth.RCAck, DestQP: 0x11, PSN: bth.PSN([]int{5, 1}[step/2]), PKey: 0xffff,
			AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
		src, dst = dst, src
	}
	b := p.Append(nil)
	h := bth.Header4{Src: [4]byte(src), Dst: [4]byte(dst), FlagsFragment: 0x4000, SrcPort: 0xc350 + uint16(step%2),
		DstPort: 4791, UDPLen: bth.UDPHeaderLen + len(b) + bth.ICRCLen}
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
	ip := []byte{0x45, 0, 0, byte(28 + len(b)), 0, 0, 0x40, 0, 64, 17, 0, 0}
	ip = append(append(ip, src...), dst...)
	ip = binary.BigEndian.AppendUint16(append(ip, 0xc3, byte(0x50+step%2), 0x12, 0xb7), uint16(8+len(b)))
	ip = append(append(ip, 0, 0), b...)
	*f = capture.Frame{Number: s.frames, Time: time.Unix(1000, int64(s.frames)*1000), Link: capture.LinkRaw,
		Length: len(ip), Data: ip}
	return nil
}

// A flow that was merged into another one keeps no place.
func TestMergedFlowsAreForgotten(t *testing.T) {
	c := NewCollector(Complaint{Status: RetryExc})
	merged := 0
	p := trace.Pipeline{Outputs: []trace.Output{c}, Options: trace.Options{
		NoMeaning: true, Merged: func(_, _ *trace.Flow) { merged++ }}}
	const connections = maxRecords/2 + 1000
	if err := p.Run(t.Context(), &apart{connections: connections}); err != nil {
		t.Fatal(err)
	}
	if a := c.Answer(); merged != connections || a.Omitted > 0 || len(a.Matches) != connections {
		t.Errorf("%d merged, %d packets omitted, %d matches", merged, a.Omitted, len(a.Matches))
	}
}
