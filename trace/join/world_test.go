package join

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/capture"
)

// world simulates go-back-N connections between hosts x and y and captures their packets at two
// points of the path:
//
//	x ── A ── B ── y
//
// Fates decide what happens to each packet, and are the truth that the report must agree with.
type world struct {
	now     int64 // nanoseconds
	queue   agenda
	actions int
	frames  [2][]capture.Frame // capture A and B
	clocks  [2]testClock
	hops    [2]int // routers between A and B, in each direction
	delays  [3]int64
	jitter  func(from int, n int) int64 // additional delay between A and B
	fate    func(from, n int, b *bth.Packet) fate
	sent    [2]int
	truth   []truth
	wait    int64 // retransmission timeout
	v6      bool
	noID    bool // the IP identification is 0
}

// fate is where a packet ends: 0 means that it arrives.
type fate int

const (
	arrives   fate = iota
	lostFirst      // before the first capture point
	lostBetween
	lostLast // behind the second capture point
	unseenA  // arrives, but capture A has no record of it
	unseenB
	marked // gets ECN CE between the points
)

// truth is a packet that did not simply arrive.
type truth struct {
	fate
	from int // 0: x sends it
	psn  bth.PSN
	op   bth.Opcode
}

// testClock is the clock of a capture: its time at 0 and its rate minus 1 in parts per million.
type testClock struct {
	offset time.Duration
	drift  float64
}

func (c testClock) at(t int64) time.Time {
	return time.Unix(1_000_000, 0).Add(c.offset + time.Duration(t) + time.Duration(float64(t)*c.drift*1e-6))
}

type action struct {
	at int64
	n  int
	do func()
}

// agenda is a heap of actions in order of time.
type agenda []action

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return cmp.Or(cmp.Compare(a[i].at, a[j].at), a[i].n-a[j].n) < 0 }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(action)) }
func (a *agenda) Pop() any {
	x := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return x
}

func (w *world) after(d int64, do func()) {
	w.actions++
	heap.Push(&w.queue, action{w.now + d, w.actions, do})
}

func (w *world) run() {
	for len(w.queue) > 0 {
		a := heap.Pop(&w.queue).(action)
		w.now = a.at
		a.do()
	}
	for i := range w.frames {
		slices.SortStableFunc(w.frames[i], func(a, b capture.Frame) int { return a.Time.Compare(b.Time) })
		for k := range w.frames[i] {
			w.frames[i][k].Number = k + 1
		}
	}
}

// addrs are the addresses of x and y.
func (w *world) addrs() [2]netip.Addr {
	if w.v6 {
		return [2]netip.Addr{netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")}
	}
	return [2]netip.Addr{netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2")}
}

// send sends b from x (0) or y (1); got runs when it arrives.
func (w *world) send(from int, b bth.Packet, got func()) {
	n := w.sent[from]
	w.sent[from]++
	f := w.fate(from, n, &b)
	if f != arrives {
		w.truth = append(w.truth, truth{f, from, b.PSN, b.Opcode})
	}
	points := [2]int{0, 1}
	if from == 1 {
		points = [2]int{1, 0}
	}
	d := w.delays
	if from == 1 {
		slices.Reverse(d[:])
	}
	if w.jitter != nil {
		d[1] += w.jitter(from, n)
	}
	at := w.now + d[0]
	if f == lostFirst {
		return
	}
	tos := byte(2)
	w.record(points[0], at, w.frame(from, n, 64, tos, b), f)
	if f == lostBetween {
		return
	}
	if f == marked {
		tos = 3
	}
	at += d[1]
	w.record(points[1], at, w.frame(from, n, byte(64-w.hops[from]), tos, b), f)
	if f != lostLast {
		w.after(at+d[2]-w.now, got)
	}
}

func (w *world) record(point int, at int64, b []byte, f fate) {
	if f == unseenA && point == 0 || f == unseenB && point == 1 {
		return
	}
	w.frames[point] = append(w.frames[point], capture.Frame{
		Time: w.clocks[point].at(at), Link: capture.LinkRaw, Length: len(b), Data: b,
	})
}

// frame returns an IP datagram with b.
func (w *world) frame(from, n int, hop, tos byte, b bth.Packet) []byte {
	b.PKey, b.MigReq = 0xffff, true
	body := b.Append(nil)
	length := bth.UDPHeaderLen + len(body) + bth.ICRCLen
	a := w.addrs()
	src, dst, port := a[from], a[1-from], 50000+from
	id := uint16(n + 1000)
	if w.noID {
		id = 0
	}
	var seed uint32
	var ip []byte
	if w.v6 {
		seed = (&bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: uint16(port), DstPort: 4791,
			UDPLen: length}).Seed()
		ip = append([]byte{0x60 | tos>>4, tos << 4, 0, 0, byte(length >> 8), byte(length), 17, hop}, src.AsSlice()...)
	} else {
		seed = (&bth.Header4{Src: src.As4(), Dst: dst.As4(), ID: id, FlagsFragment: 0x4000, SrcPort: uint16(port),
			DstPort: 4791, UDPLen: length}).Seed()
		ip = append([]byte{0x45, tos, byte((20 + length) >> 8), byte(20 + length), byte(id >> 8), byte(id), 0x40, 0,
			hop,
			17, 0, 0}, src.AsSlice()...)
	}
	ip = append(ip, dst.AsSlice()...)
	ip = binary.BigEndian.AppendUint16(ip, uint16(port))
	ip = append(ip, 0x12, 0xb7, byte(length>>8), byte(length), 0, 0)
	return append(ip, bth.AppendICRC(body, bth.ICRC(seed, body))...)
}

// connection is a requester at x that WRITEs to a responder at y.
type connection struct {
	w          *world
	local, qpn bth.QPN
	una, next  bth.PSN
	count      int // packets to send
	base       bth.PSN
	window     int
	ackEvery   int // the responder acknowledges every n-th packet; 0: each
	gap        int64
	sending    bool
	timer      int
	expected   bth.PSN
	asked      bool // the responder has sent a NAK
}

// connect starts a connection that sends n single-packet WRITEs.
func (w *world) connect(local, qpn bth.QPN, first bth.PSN, n int, gap int64) *connection {
	c := &connection{w: w, local: local, qpn: qpn, una: first, next: first, base: first, count: n, window: 16, gap: gap,
		expected: first}
	w.after(1, c.pump)
	return c
}

func (c *connection) pump() {
	c.sending = false
	if int(c.next.Diff(c.base)) >= c.count || int(c.next.Diff(c.una)) >= c.window {
		return
	}
	s := c.next
	c.next = s.Add(1)
	b := bth.Packet{Opcode: bth.RCWriteOnly, DestQP: c.qpn, PSN: s, AckReq: true,
		RETH: bth.RETH{VA: 0x1000, RKey: 7, DMALen: 64}, Payload: make([]byte, 64)}
	binary.BigEndian.PutUint32(b.Payload, uint32(s))
	c.w.send(0, b, func() { c.arrive(s) })
	c.arm()
	c.sending = true
	c.w.after(c.gap, c.pump)
}

// arm restarts the retransmission timer.
func (c *connection) arm() {
	c.timer++
	n := c.timer
	c.w.after(c.w.wait, func() {
		if n == c.timer && c.una != c.next {
			c.next = c.una
			c.resume()
		}
	})
}

func (c *connection) resume() {
	if !c.sending {
		c.pump()
	}
}

// arrive processes request s at the responder.
func (c *connection) arrive(s bth.PSN) {
	answer := bth.Packet{Opcode: bth.RCAck, DestQP: c.local, PSN: s, AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
	switch d := s.Diff(c.expected); {
	case d > 0 && c.asked:
		return
	case d > 0:
		c.asked = true
		answer.PSN, answer.AETH.Syndrome = c.expected, bth.NakPSNSequence
	case d == 0:
		c.expected, c.asked = s.Add(1), false
	default:
		answer.PSN = c.expected.Sub(1)
	}
	if n := int(s.Diff(c.base)) + 1; c.ackEvery > 0 && n%c.ackEvery != 0 && answer.AETH.Syndrome.IsAck() {
		return
	}
	c.w.send(1, answer, func() { c.acked(answer.PSN, answer.AETH.Syndrome) })
}

func (c *connection) acked(s bth.PSN, syn bth.Syndrome) {
	if syn.IsAck() {
		s = s.Add(1)
	}
	if s.Diff(c.una) > 0 {
		c.una = s
		c.arm()
	}
	if c.next.Diff(c.una) < 0 {
		c.next = c.una
	}
	if syn.IsNak() {
		c.next = s
	}
	c.resume()
}

// frames is a Source.
type frames struct {
	all []capture.Frame
}

func (f *frames) Next(x *capture.Frame) error {
	if len(f.all) == 0 {
		return io.EOF
	}
	*x, f.all = f.all[0], f.all[1:]
	return nil
}

// newWorld returns a world without losses, with clocks that differ by 3.7 s and 42 ppm.
func newWorld() *world {
	return &world{
		clocks: [2]testClock{{}, {3700 * time.Millisecond, 42}}, delays: [3]int64{500, 4000, 700},
		fate: func(int, int, *bth.Packet) fate { return arrives }, wait: 4_000_000,
	}
}

// lossText describes a loss in the terms of truth.
func lossText(where string, from int, s bth.PSN, class string) string {
	return fmt.Sprintf("%s from %c PSN %d %s", where, "xy"[from], s, class)
}

// told returns the losses of r as sorted text.
func told(w *world, r *Report) (out []string) {
	for _, l := range r.Losses {
		from := 0
		if l.Direction.Src == w.addrs()[1] {
			from = 1
		}
		out = append(out, lossText(l.Where.String(), from, l.PSN, l.Class))
	}
	slices.Sort(out)
	return out
}

// expected returns the truth of w as sorted text.
func (w *world) expected() (out []string) {
	for _, t := range w.truth {
		where := map[fate]string{lostFirst: "before", lostBetween: "between", lostLast: "behind",
			unseenA: "missed_by_a", unseenB: "missed_by_b"}[t.fate]
		if where == "" {
			continue
		}
		class := "request"
		if t.op == bth.RCAck {
			class = "ack"
		}
		out = append(out, lossText(where, t.from, t.psn, class))
	}
	slices.SortFunc(out, cmp.Compare)
	return out
}
