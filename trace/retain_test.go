package trace_test

import (
	"io"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// frameFrom returns a raw IPv4 frame with one packet from one host to another, from a UDP source
// port.
func frameFrom(number int, src, dst netip.Addr, port uint16, p bth.Packet) capture.Frame {
	h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: 0x4000, SrcPort: port, DstPort: trace.Port}
	b := p.Append(nil)
	h.UDPLen = bth.UDPHeaderLen + len(b) + bth.ICRCLen
	b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
	n := bth.IPv4HeaderLen + h.UDPLen
	ip := append([]byte{0x45, 0, byte(n >> 8), byte(n), 0, 0, 0x40, 0, 64, 17, 0, 0}, src.AsSlice()...)
	ip = append(ip, dst.AsSlice()...)
	ip = append(ip, byte(port>>8), byte(port), trace.Port>>8, trace.Port&0xff, byte(h.UDPLen>>8), byte(h.UDPLen), 0, 0)
	ip = append(ip, b...)
	return capture.Frame{Number: number, Time: time.Unix(1000, int64(number)*1000), Link: capture.LinkRaw,
		Length: len(ip), Data: ip}
}

var hostA, hostB = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")

func sendTo(qp bth.QPN, psn bth.PSN) bth.Packet {
	return bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, DestQP: qp, PSN: psn, AckReq: true,
		Payload: []byte("12345678")}
}

func ackTo(qp bth.QPN, psn bth.PSN) bth.Packet {
	return bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: qp, PSN: psn,
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 1}}
}

// generated is a capture that is generated while it is read: rounds calls of round. At its end,
// while all flows are open, it calls atEnd.
type generated struct {
	round  func(i int, put func(src, dst netip.Addr, port uint16, p bth.Packet))
	rounds int
	atEnd  func()

	i, number int
	waiting   []capture.Frame
}

func (g *generated) Next(f *capture.Frame) error {
	for len(g.waiting) == 0 {
		if g.i == g.rounds {
			g.atEnd()
			return io.EOF
		}
		g.round(g.i, func(src, dst netip.Addr, port uint16, p bth.Packet) {
			g.number++
			g.waiting = append(g.waiting, frameFrom(g.number, src, dst, port, p))
		})
		g.i++
	}
	*f, g.waiting = g.waiting[0], g.waiting[1:]
	return nil
}

// remembering counts which of the messages and flows that it received are still in memory, with
// weak pointers.
type remembering struct {
	messages map[weak.Pointer[trace.Message]]bool
	flows    map[weak.Pointer[trace.Flow]]bool
}

func (r *remembering) Packet(p *trace.Packet) error {
	if p.Message != nil {
		r.messages[weak.Make(p.Message)] = true
	}
	if p.Flow != nil {
		r.flows[weak.Make(p.Flow)] = true
	}
	return nil
}

func (r *remembering) alive() (messages, flows int) {
	runtime.GC()
	for m := range r.messages {
		if m.Value() != nil {
			messages++
		}
	}
	for f := range r.flows {
		if f.Value() != nil {
			flows++
		}
	}
	return messages, flows
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// joined puts both directions of a connection as separate flows, one with many records, before an
// acknowledgement joins them; then a UC connection replaces the remaining flow.
func joined(_ int, put func(src, dst netip.Addr, port uint16, p bth.Packet)) {
	put(hostA, hostB, 50000, sendTo(0x11, 0))
	put(hostB, hostA, 50001, sendTo(0x12, 0))
	put(hostB, hostA, 50001, sendTo(0x12, 4090))
	put(hostB, hostA, 50001, ackTo(0x12, 0))
	put(hostA, hostB, 50000, ackTo(0x11, 0))
	for i, qp := range []bth.QPN{0x11, 0x12} {
		p := sendTo(qp, 0)
		p.Opcode, p.AckReq = bth.UCSendOnly, false
		put([]netip.Addr{hostA, hostB}[i], []netip.Addr{hostB, hostA}[i], uint16(50000+i), p)
	}
}

func TestAPipelineForgetsWhatHasEnded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rounds int
		round  func(i int, put func(src, dst netip.Addr, port uint16, p bth.Packet))
	}{
		{"messages that are shown again after their end", 5000,
			func(i int, put func(src, dst netip.Addr, port uint16, p bth.Packet)) {
				put(hostA, hostB, 50000, sendTo(0x11, bth.PSN(i)))
				put(hostB, hostA, 50000, ackTo(0x12, bth.PSN(i)))
				put(hostB, hostA, 50000, ackTo(0x12, bth.PSN(i)))
			}},
		{"flows that were joined to others", 1000, joined},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := &remembering{map[weak.Pointer[trace.Message]]bool{}, map[weak.Pointer[trace.Flow]]bool{}}
			var messages, flows int
			src := &generated{round: tt.round, rounds: tt.rounds, atEnd: func() { messages, flows = out.alive() }}
			p := trace.Pipeline{Outputs: []trace.Output{out}}
			if err := p.Run(t.Context(), src); err != nil {
				t.Fatal(err)
			}
			if len(out.messages) < tt.rounds || messages > 400 || flows > 10 {
				t.Errorf("of %d messages %d are kept, of %d flows %d", len(out.messages), messages,
					len(out.flows), flows)
			}
			runtime.KeepAlive(&p)
		})
	}
}

// keeping keeps all flows that it receives, as an output may.
type keeping struct {
	flows []*trace.Flow
	last  *trace.Flow
}

func (k *keeping) Packet(p *trace.Packet) error {
	if p.Flow != nil && p.Flow != k.last {
		k.flows, k.last = append(k.flows, p.Flow), p.Flow
	}
	return nil
}

func TestAFlowThatAnOutputKeepsTakesLittle(t *testing.T) {
	before, used := heap(), 0
	out := &keeping{}
	src := &generated{round: joined, rounds: 1000, atEnd: func() { used = heap() - before }}
	p := trace.Pipeline{Outputs: []trace.Output{out}}
	if err := p.Run(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	// With their records the flows would take more than 200 MiB.
	if len(out.flows) < 2000 || used > 32<<20 {
		t.Errorf("%d flows take %d bytes", len(out.flows), used)
	}
	runtime.KeepAlive(&p)
}

func TestAFlowIsToldOfWhosePacketWasChosenBeforeItWasJoined(t *testing.T) {
	out := &recorder{}
	src := &generated{rounds: 1, atEnd: func() {},
		round: func(_ int, put func(src, dst netip.Addr, port uint16, p bth.Packet)) {
			put(hostA, hostB, 50000, sendTo(0x11, 0))
			put(hostB, hostA, 50001, sendTo(0x12, 77)) // a separate flow, until the acknowledgement
			put(hostB, hostA, 50001, ackTo(0x12, 0))
		}}
	p := trace.Pipeline{Filter: onlyPSN(77), Outputs: []trace.Output{out}}
	if err := p.Run(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	if want := []string{"begin 1000", "packet 77", "message 1", "flow 3", "flush"}; !slices.Equal(out.calls, want) {
		t.Errorf("%q, want %q", out.calls, want)
	}
}

func TestAFlowThatWasGivenUpLeavesNoDirectionBehind(t *testing.T) {
	a := trace.NewAnalyzer(trace.Options{Flows: 100, NoMeaning: true})
	n := 0
	for way := range byte(100) {
		for qp := range bth.QPN(64) {
			n++
			p := bare(n, bth.RCSendOnly, qp+2, 5)
			p.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 0, way}), 4791)
			a.Add(p)
		}
	}
	if stale := a.Stale(); stale > 0 {
		t.Errorf("%d directions of flows that are gone are kept", stale)
	}
	if err := a.CheckBounds(); err != nil {
		t.Error(err)
	}
}

func TestAConnectionThatBeginsAnewGivesTheRoomOfItsMessagesBack(t *testing.T) {
	const flows = 50
	a := trace.NewAnalyzer(trace.Options{NoMeaning: true})
	n := 0
	add := func(qp bth.QPN, psn bth.PSN) {
		n++
		a.Add(bare(n, bth.RCSendOnly, qp+2, psn))
	}
	for qp := range bth.QPN(flows) {
		for i := range bth.PSN(1100) {
			add(qp, i)
		}
		add(qp, 1<<20)
	}
	if room := a.Rings(); room > flows*2*64 {
		t.Errorf("there is room for %d messages in %d flows, each with one", room, flows)
	}
	if err := a.CheckBounds(); err != nil {
		t.Error(err)
	}
}
