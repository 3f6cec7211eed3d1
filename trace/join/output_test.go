package join

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// lossy returns a world with a loss at every place, and two packets that a capture missed.
func lossy() *world {
	w := newWorld()
	w.hops[0] = 1
	w.fate = at(map[int]fate{50: lostFirst, 150: lostBetween, 250: lostLast, 300: unseenA, 340: unseenB, 350: marked,
		399: lostLast}, map[int]fate{80: lostBetween})
	w.connect(0x11, 0x22, bth.MaxPSN-200, 360, 3000)
	return w
}

func TestReportsAreWritten(t *testing.T) {
	for _, tt := range []struct {
		name string
		w    *world
	}{
		{"lossy", lossy()},
		{"nothing_in_common", func() *world {
			w := newWorld()
			w.fate = func(int, int, *bth.Packet) fate { return lostBetween }
			w.connect(0x11, 0x22, 5, 2, 3000)
			w.frames[1] = []capture.Frame{{Time: w.clocks[1].at(0), Link: capture.LinkRaw}}
			w.wait = 1e6
			w.after(3e6, func() { w.queue = nil })
			return w
		}()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.w.join(t, Options{Offset: 3700 * time.Millisecond, Names: [2]string{"host\x1b[1m.pcap",
				"switch.pcap"}})
			var text, lines bytes.Buffer
			if err := r.WriteText(&text); err != nil {
				t.Fatal(err)
			}
			if err := r.WriteJSON(&lines); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, tt.name+".txt", text.String())
			golden.Check(t, tt.name+".jsonl", lines.String())
			for l := range strings.Lines(lines.String()) {
				if !json.Valid([]byte(l)) {
					t.Errorf("not JSON: %q", l)
				}
			}
		})
	}
}

// endless is a Source of n packets of as many queue pairs as there are, one after the other. It
// leaves out each packet for which skip is true.
type endless struct {
	w    *world
	n, i int
	qps  int
	step int64 // nanoseconds between packets
	late int64 // nanoseconds after the other capture
	skip func(i int) bool
	b    []byte
}

func (e *endless) Next(f *capture.Frame) error {
	for e.i++; e.skip(e.i); e.i++ {
	}
	if e.i > e.n {
		return io.EOF
	}
	psn := bth.PSN(e.i/e.qps) & bth.MaxPSN
	p := bth.Packet{Opcode: bth.RCSendOnly, DestQP: bth.QPN(0x100 + e.i%e.qps), PSN: psn, AckReq: true,
		Payload: make([]byte, 8)}
	from := e.i / e.qps % 2
	if from == 1 { // answers the round before
		p = bth.Packet{Opcode: bth.RCAck, DestQP: p.DestQP + 1<<20, PSN: psn.Sub(1),
			AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
	} else {
		p.PSN /= 2
	}
	e.b = e.w.frame(from, e.i, 64, 0, p)
	*f = capture.Frame{Number: e.i, Time: time.Unix(1000, int64(e.i)*e.step+e.late), Link: capture.LinkRaw,
		Length: len(e.b), Data: e.b}
	return nil
}

var long = flag.Bool("long", false, "run the tests of the limits of memory")

// inUse returns the memory in use after a collection, in MiB.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc >> 20
}

// Captures without any common packet, and with more queue pairs than the limits allow, take no more
// memory than the limits do.
func TestStateIsBounded(t *testing.T) {
	if !*long {
		t.Skip("takes long: make simulate runs it")
	}
	w, before, most := newWorld(), inUse(), uint64(0)
	source := func(odd int) *endless {
		return &endless{w: w, n: 640_000, qps: 35_000, step: 1, skip: func(i int) bool {
			if i == 630_000 {
				most = max(most, inUse())
			}
			return i%2 == odd
		}}
	}
	r, err := Join(t.Context(), source(0), source(1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Unjudged == 0 || r.Early == 0 || r.Omitted == 0 || len(r.Losses) != maxLosses ||
		len(r.Directions) != maxDirections {
		t.Errorf("%d unjudged, %d early, %d omitted, %d losses, %d directions", r.Unjudged, r.Early, r.Omitted,
			len(r.Losses), len(r.Directions))
	}
	if used := most - before; used > 256 {
		t.Errorf("%d MiB in use", used)
	} else {
		t.Logf("%d MiB in use", used)
	}
}

// Two captures with 10,000 queue pairs at a million packets per second, one in 1,000 lost.
func TestMemoryOfTenThousandQueuePairs(t *testing.T) {
	if !*long {
		t.Skip("takes long: make simulate runs it")
	}
	w, before, most := newWorld(), inUse(), uint64(0)
	n := 200_000
	a := &endless{w: w, n: n, qps: 10_000, step: 1000, skip: func(int) bool { return false }}
	b := &endless{w: w, n: n, qps: 10_000, step: 1000, late: 5000, skip: func(i int) bool {
		if i == n-1 {
			most = inUse()
		}
		return i%1009 == 0 && i/10_000%2 == 0
	}}
	r, err := Join(t.Context(), a, b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if used := most - before; used > 128 { // the collector needs as much again
		t.Errorf("%d MiB in use", used)
	} else {
		t.Logf("%d MiB in use, total %+v", used, r.Total)
	}
}

// FuzzJoin joins two captures that are the same frames with changes. For any frames, each packet
// is in both captures, in one, or not judged.
func FuzzJoin(f *testing.F) {
	w := lossy()
	w.run()
	seed := func(all []capture.Frame) (b []byte) {
		for _, x := range all[40:60] {
			b = append(append(b, byte(len(x.Data))), x.Data...)
		}
		return b
	}
	f.Add(seed(w.frames[0]), seed(w.frames[1]), int64(0), uint16(1000))
	f.Add(seed(w.frames[0]), seed(w.frames[0]), int64(1<<62), uint16(0))
	f.Add(seed(w.frames[1]), []byte{}, int64(-1<<62), uint16(7))
	f.Fuzz(func(t *testing.T, a, b []byte, offset int64, step uint16) {
		r, err := Join(t.Context(), framesOf(a, 0, step), framesOf(b, offset, step),
			Options{Offset: time.Duration(offset)})
		if err != nil {
			t.Fatal(err)
		}
		var sum Counts
		for _, d := range r.Directions {
			sum.add(&d.Counts)
		}
		if sum != r.Total {
			t.Errorf("total %+v, sum %+v", r.Total, sum)
		}
		packets := r.Captures[0].Counts.Packets + r.Captures[1].Counts.Packets
		if 2*r.Total.Both > packets {
			t.Errorf("%d of %d packets in both", r.Total.Both, packets)
		}
		if err := r.WriteText(io.Discard); err != nil {
			t.Error(err)
		}
		var out bytes.Buffer
		if err := r.WriteJSON(&out); err != nil {
			t.Error(err)
		}
		if bytes.ContainsFunc(out.Bytes(), func(c rune) bool {
			return c != '\n' && (c < ' ' || c >= 0x7f &&
				c < 0xa0)
		}) {
			t.Error("control characters")
		}
	})
}

// framesOf returns the frames in b, each with its length before it.
func framesOf(b []byte, offset int64, step uint16) trace.Source {
	s := &frames{}
	for at := int64(0); len(b) > 0; at += int64(step) {
		n := min(int(b[0]), len(b)-1)
		s.all = append(s.all, capture.Frame{Number: len(s.all) + 1, Time: time.Unix(1000,
			0).Add(time.Duration(offset + at)),
			Link: capture.LinkRaw, Length: n, Data: slices.Clone(b[1 : 1+n])})
		b = b[1+n:]
	}
	return s
}
