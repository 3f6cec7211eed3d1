package join

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/trace/capture"
)

func (w *world) join(t *testing.T, o Options) *Report {
	t.Helper()
	w.run()
	r, err := Join(t.Context(), &frames{w.frames[0]}, &frames{w.frames[1]}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at returns a fate for the n-th packets of each host.
func at(x, y map[int]fate) func(int, int, *bth.Packet) fate {
	return func(from, n int, _ *bth.Packet) fate {
		if from == 0 {
			return x[n]
		}
		return y[n]
	}
}

func TestEachLossIsReportedWhereItHappened(t *testing.T) {
	for _, tt := range []struct {
		rule string
		x, y map[int]fate
	}{
		{"nothing lost", nil, nil},
		{"before A", map[int]fate{50: lostFirst}, nil},
		{"between A and B", map[int]fate{50: lostBetween}, nil},
		{"behind B", map[int]fate{50: lostLast}, nil},
		{"three places", map[int]fate{50: lostFirst, 150: lostBetween, 250: lostLast}, nil},
		{"two neighbours between", map[int]fate{50: lostBetween, 51: lostBetween}, nil},
		{"two neighbours before", map[int]fate{50: lostFirst, 51: lostFirst}, nil},
		{"an ACK between B and A", nil, map[int]fate{80: lostBetween}},
		{"A has no record of a request", map[int]fate{60: unseenA}, nil},
		{"B has no record of a request", map[int]fate{60: unseenB}, nil},
		{"the last request between", map[int]fate{399: lostBetween}, nil},
		{"the last request behind", map[int]fate{399: lostLast}, nil},
		{"the last ACK between", nil, map[int]fate{399: lostBetween}},
	} {
		for _, variant := range []struct {
			name string
			set  func(*world)
		}{
			{"switched", func(*world) {}},
			{"routed", func(w *world) { w.hops = [2]int{1, 1} }},
			{"IPv6", func(w *world) { w.v6 = true }},
			{"no IP identification", func(w *world) { w.noID = true }},
		} {
			t.Run(tt.rule+"/"+variant.name, func(t *testing.T) {
				w := newWorld()
				variant.set(w)
				w.fate = at(tt.x, tt.y)
				w.connect(0x11, 0x22, bth.MaxPSN-200, 400, 3000)
				r := w.join(t, Options{Offset: 3700 * time.Millisecond})
				if got, want := told(w, r), w.expected(); !slices.Equal(got, want) {
					t.Errorf("reported %q\nwant %q\n%+v", got, want, r.Losses)
				}
				if r.Directions[0].First != "A" || r.Directions[1].First != "B" {
					t.Errorf("first are %q and %q", r.Directions[0].First, r.Directions[1].First)
				}
				if h := r.Directions[0].Hops; h != w.hops[0] {
					t.Errorf("%d hops", h)
				}
			})
		}
	}
}

// The first packets take longer than the smallest round trip between the points: the lost one
// passed A before the first packet reached B.
func TestALossInTheFirstBurstIsReported(t *testing.T) {
	w := newWorld()
	w.fate = at(map[int]fate{3: lostBetween}, nil)
	w.jitter = func(from, n int) int64 {
		if from == 0 && n < 16 {
			return 300_000
		}
		return 0
	}
	w.connect(0x11, 0x22, 100, 400, 3000)
	r := w.join(t, Options{Offset: 3700 * time.Millisecond})
	if got, want := told(w, r), w.expected(); !slices.Equal(got, want) || r.Total.Outside > 0 {
		t.Errorf("reported %q\nwant %q\n%+v", got, want, r.Total)
	}
}

// The last request is so late that the requester sends it again.
func TestATimerThatExpiresTooEarlyIsNoLoss(t *testing.T) {
	w := newWorld()
	w.jitter = func(from, n int) int64 {
		if from == 0 && n >= 399 {
			return map[int]int64{399: 6_000_000, 400: 3_000_000}[n]
		}
		return 0
	}
	w.connect(0x11, 0x22, 100, 400, 3000)
	if r := w.join(t, Options{Offset: 3700 * time.Millisecond}); w.sent[0] != 401 || len(r.Losses) > 0 {
		t.Errorf("%d requests sent, %+v", w.sent[0], r.Losses)
	}
}

// The original of a lost retransmission has arrived.
func TestALostRetransmissionIsALoss(t *testing.T) {
	w := newWorld()
	w.fate = at(map[int]fate{400: lostBetween}, map[int]fate{399: lostBetween})
	w.connect(0x11, 0x22, 100, 400, 3000)
	r := w.join(t, Options{Offset: 3700 * time.Millisecond})
	if got, want := told(w, r), w.expected(); !slices.Equal(got, want) {
		t.Errorf("reported %q\nwant %q\n%+v", got, want, r.Losses)
	}
}

// The requester goes back to packets that arrived and were not acknowledged yet.
func TestATimeoutThatOneLossExplainsIsNoOtherLoss(t *testing.T) {
	if race.Enabled {
		t.Skip("smaller captures take the same way: the race detector finds nothing more in many packets")
	}
	for _, wait := range []int64{4_000_000, 1_500_000_000, 12_000_000_000} {
		w := newWorld()
		w.wait = wait
		lost := false
		w.fate = func(_, _ int, b *bth.Packet) fate {
			if lost || b.DestQP != 0x22 || b.PSN != 499 {
				return arrives
			}
			lost = true
			return lostBetween
		}
		w.connect(0x11, 0x22, 100, 400, 3000).ackEvery = 4
		w.connect(0x13, 0x24, 100, 20000, wait/10000)
		r := w.join(t, Options{Offset: 3700 * time.Millisecond})
		if got, want := told(w, r), w.expected(); !slices.Equal(got, want) {
			t.Errorf("timeout %v: reported %q\nwant %q\n%+v", time.Duration(wait), got, want, r.Losses)
			continue
		}
		l := r.Losses[0]
		if wait > decideAfter*int64(time.Second) {
			continue // the loss is decided before
		}
		if l.Frames[0] == 0 || l.Again[0] <= l.Frames[0] || l.Again[1] == 0 {
			t.Errorf("timeout %v: %+v", time.Duration(wait), l)
		}
	}
}

// Without delays, round trips do not tell which capture point is first.
func TestDirectionsOfFramesTellTheOrder(t *testing.T) {
	for _, known := range [][2]bool{{true, true}, {true, false}, {false, true}} {
		w := newWorld()
		w.delays, w.clocks = [3]int64{500, 0, 700}, [2]testClock{}
		w.fate = at(map[int]fate{50: lostBetween}, map[int]fate{80: lostBetween})
		w.connect(0x11, 0x22, 100, 200, 3000)
		w.run()
		for i := range w.frames {
			for k := range w.frames[i] {
				f := &w.frames[i][k]
				fromX := f.Data[15] == 1 // the last byte of the source address
				if f.Direction = capture.Inbound; fromX == (i == 0) {
					f.Direction = capture.Outbound
				}
				if !known[i] {
					f.Direction = capture.Unknown
				}
			}
		}
		r, err := Join(t.Context(), &frames{w.frames[0]}, &frames{w.frames[1]}, Options{})
		if got, want := told(w, r), w.expected(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: reported %q\nwant %q\n%v", known, got, want, err)
		}
	}
}

func TestASteepLineIsNoDrift(t *testing.T) {
	c := &clock{}
	for _, s := range [][3]int64{{0, 1000, 900}, {25e6, 2e6, 1000}, {50e6, 3e6, 2e6}} {
		c.add(s[0], s[0]+s[1], true)
		c.add(s[0], s[0]-s[2], false)
	}
	c.solve()
	if f := c.fit; f.DriftKnown || f.Drift != 0 || f.Unsteady || f.MinRTT != 1900 {
		t.Errorf("%+v", f)
	}
}

func TestTheClocksAreFitted(t *testing.T) {
	for _, tt := range []struct {
		name   string
		offset time.Duration
		drift  float64
	}{
		{"the same clock", 0, 0}, {"ahead", 3700 * time.Millisecond, 42}, {"behind", -250 * time.Microsecond, -80},
		{"hours", 5 * time.Hour, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.clocks[1] = testClock{tt.offset, tt.drift}
			random := rand.New(rand.NewPCG(1, 2))
			w.jitter = func(int, int) int64 { return int64(random.ExpFloat64() * 3000) }
			w.connect(0x11, 0x22, 100, 20000, 30000)
			r := w.join(t, Options{Offset: tt.offset})
			c := r.Clock
			if !c.Fitted || c.Unsteady {
				t.Fatalf("%+v", c)
			}
			// The first sample is after 500 ns; drift in that time is below a nanosecond.
			if d := c.Offset - tt.offset; d.Abs() > 60*time.Nanosecond {
				t.Errorf("offset is wrong by %v", d)
			}
			if d := c.Drift - tt.drift; math.Abs(d) > 0.2 {
				t.Errorf("drift is %f, want %f", c.Drift, tt.drift)
			}
			if d := c.MinRTT - 8*time.Microsecond; d < -20 || d > 150 {
				t.Errorf("minimum round trip %v, want 8µs", c.MinRTT)
			}
			if c.Bound != c.MinRTT/2 {
				t.Errorf("bound %v", c.Bound)
			}
			for _, d := range r.Directions {
				// 4 µs and an exponential delay of 3 µs: median 4+2.08 µs, p99 4+13.8 µs
				if d.Delay.P50 < 5500*time.Nanosecond || d.Delay.P50 > 6800*time.Nanosecond ||
					d.Delay.P99 < 15*time.Microsecond || d.Delay.P99 > 21*time.Microsecond {
					t.Errorf("delays %+v", d.Delay)
				}
			}
		})
	}
}

// A constant asymmetry cannot be told from an offset: the error is below the bound.
func TestAsymmetryIsWithinTheBound(t *testing.T) {
	w := newWorld()
	w.jitter = func(from, _ int) int64 { return int64(from) * 5000 }
	w.connect(0x11, 0x22, 100, 5000, 30000)
	r := w.join(t, Options{Offset: 3700 * time.Millisecond})
	if err := (r.Clock.Offset - 3700*time.Millisecond).Abs(); err > r.Clock.Bound || err < 2*time.Microsecond {
		t.Errorf("error %v, bound %v", err, r.Clock.Bound)
	}
}

// Delays and losses are the same if capture A is the one closer to the responder.
func TestTheOrderOfTheFilesDoesNotMatter(t *testing.T) {
	w := lossy()
	w.run()
	r, err := Join(t.Context(), &frames{w.frames[1]}, &frames{w.frames[0]}, Options{Offset: -3700 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	want := w.expected()
	for i, l := range want { // the names of the captures change
		want[i] = strings.NewReplacer("by_a", "by_b", "by_b", "by_a").Replace(l)
	}
	slices.Sort(want)
	if got := told(w, r); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if r.Directions[0].First != "B" || r.Directions[1].First != "A" || r.Clock.Offset > -3699*time.Millisecond {
		t.Errorf("first are %q and %q, clock %+v", r.Directions[0].First, r.Directions[1].First, r.Clock)
	}
}

func TestASteppedClockIsReported(t *testing.T) {
	w := newWorld()
	w.connect(0x11, 0x22, 100, 4000, 30000)
	w.run()
	for i := range w.frames[1] {
		if f := &w.frames[1][i]; i > len(w.frames[1])/2 {
			f.Time = f.Time.Add(3 * time.Millisecond)
		}
	}
	r, err := Join(t.Context(), &frames{w.frames[0]}, &frames{w.frames[1]}, Options{Offset: 3700 * time.Millisecond})
	if err != nil || !r.Clock.Unsteady || r.Clock.Bound < time.Millisecond || len(r.Losses) > 0 {
		t.Errorf("%+v, %d losses, %v", r.Clock, len(r.Losses), err)
	}
}

// The headers of the packet are intact, but not its payload.
func TestAPacketCorruptedBetweenThePointsIsCounted(t *testing.T) {
	w := newWorld()
	w.connect(0x11, 0x22, 100, 200, 3000)
	w.run()
	n := 0
	for i := range w.frames[1] {
		if f := &w.frames[1][i]; len(f.Data) > 100 && i > 50 && n == 0 {
			f.Data = slices.Clone(f.Data)
			f.Data[len(f.Data)-10]++
			n++
		}
	}
	r, err := Join(t.Context(), &frames{w.frames[0]}, &frames{w.frames[1]}, Options{Offset: 3700 * time.Millisecond})
	if err != nil || r.Total.Corrupt != 1 || r.Total.Outside != 0 {
		t.Errorf("%+v, %v", r.Total, err)
	}
}

func TestACEMarkBetweenThePointsIsCounted(t *testing.T) {
	w := newWorld()
	w.fate = at(map[int]fate{20: marked, 70: marked}, nil)
	w.connect(0x11, 0x22, 100, 200, 3000)
	r := w.join(t, Options{Offset: 3700 * time.Millisecond})
	if r.Total.Marked != 2 || len(r.Losses) != 0 {
		t.Errorf("%+v", r.Total)
	}
}

// losses makes a world of connections that each lose about one request in 100, at one of the three
// places, and never one before the previous loss is repaired.
func losses(connections int) *world {
	w := newWorld()
	random := rand.New(rand.NewPCG(3, 4))
	w.jitter = func(int, int) int64 { return int64(random.ExpFloat64() * 500) }
	since := map[bth.QPN]int{}
	w.fate = func(from, _ int, b *bth.Packet) fate {
		if from == 1 {
			return arrives
		}
		if since[b.DestQP]++; since[b.DestQP] < 60 || random.IntN(40) > 0 {
			return arrives
		}
		since[b.DestQP] = 0
		return lostFirst + fate(random.IntN(3))
	}
	for i := range connections {
		w.connect(bth.QPN(0x100+i), bth.QPN(0x1000+7*i), bth.PSN(1000*i), 600, 50_000+int64(i)*17)
	}
	return w
}

// Each loss that the captures show is reported at its place, and nothing else is.
func TestLossesOfManyConnections(t *testing.T) {
	w := losses(50)
	r := w.join(t, Options{Offset: 3700 * time.Millisecond})
	got, want := told(w, r), w.expected()
	if len(want) < 250 || !slices.Equal(got, want) {
		t.Errorf("%d losses reported, %d happened", len(got), len(want))
		for _, l := range want {
			if !slices.Contains(got, l) {
				t.Logf("not reported: %s", l)
			}
		}
		for _, l := range got {
			if !slices.Contains(want, l) {
				t.Logf("did not happen: %s", l)
			}
		}
	}
}

// Where the Analyzer cannot pair both directions of all connections, the place of a loss is unknown
// rather than wrong.
func TestNoLossOfManyConnectionsIsReportedAtAWrongPlace(t *testing.T) {
	if race.Enabled {
		t.Skip("smaller captures take the same way: the race detector finds nothing more in many packets")
	}
	w := losses(120) // more than the Analyzer pairs
	r := w.join(t, Options{Offset: 3700 * time.Millisecond})
	want := map[string]bool{}
	for _, l := range w.expected() {
		want[l] = true
	}
	wrong, right := 0, 0
	for _, l := range told(w, r) {
		switch {
		case want[l]:
			right++
		case !strings.HasPrefix(l, "unknown"):
			if wrong++; wrong < 20 {
				t.Logf("did not happen: %s", l)
			}
		}
	}
	if wrong > 0 || right < len(want)*99/100 {
		t.Errorf("of %d losses, %d are reported at the right place, %d at a wrong one", len(want), right, wrong)
	}
}

// A READ request has one packet and several PSNs. If it is lost, one packet is.
func TestALostREADRequestIsOnePacket(t *testing.T) {
	for _, tt := range []struct {
		fate
		where string
	}{{lostFirst, "before"}, {lostBetween, "between"}, {lostLast, "behind"}} {
		t.Run(tt.where, func(t *testing.T) {
			w := newWorld()
			const lost = 5
			sent := 0
			w.fate = func(from, _ int, b *bth.Packet) fate {
				if from == 0 {
					if sent++; sent == lost {
						return tt.fate
					}
				}
				return arrives
			}
			read := func(s bth.PSN, got func()) {
				w.send(0, bth.Packet{Opcode: bth.RCReadRequest, DestQP: 0x22, PSN: s,
					RETH: bth.RETH{VA: 0x1000, RKey: 7, DMALen: 4 * 256}}, got)
			}
			answer := func(s bth.PSN) {
				for i, op := range []bth.Opcode{bth.RCReadResponseFirst, bth.RCReadResponseMiddle,
					bth.RCReadResponseMiddle,
					bth.RCReadResponseLast} {
					w.send(1, bth.Packet{Opcode: op, DestQP: 0x11, PSN: s.Add(uint32(i)), Payload: make([]byte, 256),
						AETH: bth.AETH{Syndrome: bth.AckUnlimited}}, func() {})
				}
			}
			for i := range 10 {
				s := bth.PSN(100 + 4*i)
				w.after(int64(i)*20_000, func() {
					read(s, func() {
						if i != lost {
							answer(s)
							return
						}
						w.send(1, bth.Packet{Opcode: bth.RCAck, DestQP: 0x11, PSN: s.Sub(4),
							AETH: bth.AETH{Syndrome: bth.NakPSNSequence}}, func() {
							read(s.Sub(4), func() { answer(s.Sub(4)) })
							read(s, func() { answer(s) })
						})
					})
				})
			}
			r := w.join(t, Options{Offset: 3700 * time.Millisecond})
			want := []string{lossText(tt.where, 0, 100+4*(lost-1), "request")}
			if got := told(w, r); !slices.Equal(got, want) {
				t.Errorf("%q, want %q\n%+v", got, want, r.Losses)
			}
		})
	}
}
