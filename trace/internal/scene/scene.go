// Package scene constructs packets of conversations, with the meaning that a [trace.Analyzer]
// would set, to test the outputs of packets without captures.
package scene

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Begin is the start time of every scene.
var Begin = time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC)

// Script collects the packets of one or more conversations, in capture order.
type Script struct {
	Packets  []*trace.Packet
	Flows    []*trace.Flow
	Messages []*trace.Message
	now      time.Time
}

// New returns an empty Script that begins at [Begin].
func New() *Script { return &Script{now: Begin} }

// After advances the time by d.
func (s *Script) After(d time.Duration) *Script { s.now = s.now.Add(d); return s }

// Flow starts a flow of service between two queue pairs.
func (s *Script) Flow(service bth.Service, asker, answerer trace.End) *trace.Flow {
	f := &trace.Flow{
		Number: len(s.Flows) + 1, Service: service, Ends: [2]trace.End{asker, answerer},
		First: len(s.Packets) + 1, Begin: s.now, Last: s.now,
	}
	s.Flows = append(s.Flows, f)
	return f
}

// Message starts a message of the flow's first end.
func (s *Script) Message(f *trace.Flow, verb string, op bth.Operation, first bth.PSN, n int,
	size uint64) *trace.Message {
	f.Messages++
	m := &trace.Message{
		Number: int(f.Messages), Flow: f, Verb: verb, Op: op, First: first, Last: first.Add(uint32(n - 1)),
		Bytes: size, Packets: n, Begin: s.now, End: s.now,
	}
	m.Frames[0] = len(s.Packets) + 1
	s.Messages = append(s.Messages, m)
	return m
}

// Packet adds a packet sent by one end of the flow, 3 microseconds after the previous one, in its
// own frame. It returns the packet so that the caller can modify it.
func (s *Script) Packet(f *trace.Flow, from int, role trace.Role, b bth.Packet, meaning string) *trace.Packet {
	s.now = s.now.Add(3 * time.Microsecond)
	src, dst := f.Ends[from], f.Ends[1-from]
	if b.DestQP == 0 {
		b.DestQP = dst.QPN
	}
	b.PKey, b.MigReq = 0xffff, true
	p := &trace.Packet{
		Number: len(s.Packets) + 1, Part: 1, Parts: 1,
		Time: s.now, Direction: capture.Outbound - capture.Direction(from),
		Src: netip.AddrPortFrom(src.Addr, 49152), Dst: netip.AddrPortFrom(dst.Addr, 4791),
		IP: trace.IP{Version: 4, TrafficClass: 2, HopLimit: 64, ID: uint16(len(s.Packets))}, BTH: b, Flow: f,
		Role: role, Meaning: meaning,
	}
	if src.Addr.Is6() {
		p.IP.Version, p.IP.ID = 6, 0
	}
	seal(p)
	f.Packets++
	f.Bytes += uint64(p.Len)
	f.Last = s.now
	s.Packets = append(s.Packets, p)
	return p
}

// Of assigns p to m and extends m to p.
func Of(m *trace.Message, p *trace.Packet) *trace.Packet {
	p.Message = m
	m.End, m.Frames[1] = p.Time, p.Number
	return p
}

// seal encodes the packet with its ICRC.
func seal(p *trace.Packet) {
	p.Bytes = p.BTH.Append(nil)
	length := bth.UDPHeaderLen + len(p.Bytes) + bth.ICRCLen
	var seed uint32
	if p.IP.Version == 4 {
		h := bth.Header4{
			Src: p.Src.Addr().As4(), Dst: p.Dst.Addr().As4(), ID: p.IP.ID, FlagsFragment: 0x4000,
			SrcPort: p.Src.Port(), DstPort: p.Dst.Port(), UDPLen: length,
		}
		seed = h.Seed()
	} else {
		h := bth.Header6{
			Src: p.Src.Addr().As16(), Dst: p.Dst.Addr().As16(),
			SrcPort: p.Src.Port(), DstPort: p.Dst.Port(), UDPLen: length,
		}
		seed = h.Seed()
	}
	v := bth.ICRC(seed, p.Bytes)
	p.Bytes = bth.AppendICRC(p.Bytes, v)
	p.Len = len(p.Bytes)
	p.ICRC = trace.ICRC{Verdict: trace.Right, Wire: v, Want: v}
}
