package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Options configure [Join].
type Options struct {
	Names [2]string // of the captures
	// Offset is the expected time of a packet in capture B minus that in capture A; see
	// [Relation.Offset]. It is used until packets in both directions are matched.
	Offset time.Duration
	// Wait is the time after which a packet that only one capture has is taken as such; 0 means one
	// second. It must exceed the time that packets need between the capture points.
	Wait time.Duration
	// Dedupe leaves out copies of packets in one capture that it does not tell from retransmissions
	// by the capture point, as [trace.Pipeline] does. Copies at several interfaces are always left
	// out.
	Dedupe bool
}

// maxFlows is the maximum number of flows that each Analyzer follows at a time.
const maxFlows = 1 << 14

// joiner is the state of Join.
type joiner struct {
	o      Options
	wait   int64
	sides  [2]side
	window *window
	clock  clock
	pairs  map[pairKey]*pair
	report *Report

	directions map[directionKey]*direction
	ordered    []*direction // in order of Report.Directions
	events     events
	holes      int               // events that packets may make now; see holeBurst
	naks       map[nakKey][2]int // frames
	again      resent
	recent     *memory // frames of matched packets
	distance   func(*entry) int64
	at         int64 // time of the current packet in its capture
}

// side is one of the two captures.
type side struct {
	src      trace.Source
	decoder  trace.Decoder
	analyzer *trace.Analyzer
	copies   trace.Copies
	frame    capture.Frame
	now      int64 // time of frame, noTime at the end of the capture
	first    int64 // time of the first frame
	last     int64 // time of the latest frame
	done     bool
	packet   func(*trace.Packet)
}

// noTime is the result of nanoseconds for a time that is unknown or outside of 1970 to 2116.
const noTime = math.MinInt64

func nanoseconds(t time.Time) int64 {
	if s := t.Unix(); s <= 0 || s >= 1<<62/int64(time.Second) {
		return noTime
	}
	return t.UnixNano()
}

// Join matches the packets of captures a and b, and tells where losses happened. Frames without a
// time cannot be joined: they take the time of the frame before. An error of a source names its
// capture; the Report then covers what was read.
func Join(ctx context.Context, a, b trace.Source, o Options) (*Report, error) {
	if o.Wait <= 0 {
		o.Wait = time.Second
	}
	j := &joiner{
		o: o, wait: int64(o.Wait), window: newWindow(), pairs: map[pairKey]*pair{}, report: &Report{},
		directions: map[directionKey]*direction{}, events: events{byKey: map[eventKey]*event{}},
		naks: map[nakKey][2]int{}, recent: &memory{}, holes: holeBurst,
	}
	j.distance = func(e *entry) int64 {
		tA, tB := e.at, j.at
		if e.side == 1 {
			tA, tB = tB, tA
		}
		d := saturatingSub(saturatingSub(tB, tA), j.offset(tA))
		return max(d, -d)
	}
	for i, src := range []trace.Source{a, b} {
		j.sides[i] = side{
			src: src, analyzer: trace.NewAnalyzer(trace.Options{NoMeaning: true, Flows: maxFlows}),
			copies: trace.Copies{Merged: o.Dedupe}, packet: func(p *trace.Packet) { j.packet(i, p) },
		}
		j.report.Captures[i].Name = o.Names[i]
	}
	err := j.run(ctx)
	j.finish()
	return j.report, err
}

// offset returns the time in B minus that in A of an event at the time tA in A.
func (j *joiner) offset(tA int64) int64 { return j.clock.offset(tA, int64(j.o.Offset)) }

// inA returns the time t of the capture side in the clock of capture A.
func (j *joiner) inA(t int64, side int) int64 {
	if side == 0 {
		return t
	}
	return saturatingSub(t, j.offset(t-int64(j.o.Offset)))
}

// run reads both captures, always the one that is behind.
func (j *joiner) run(ctx context.Context) error {
	var errs []error
	for i := range j.sides {
		errs = append(errs, j.read(i))
	}
	for ctx.Err() == nil {
		a, b := &j.sides[0], &j.sides[1]
		i := 0
		switch {
		case a.done && b.done:
			return errors.Join(errs...)
		case a.done, !b.done && j.inA(b.now, 1) < a.now:
			i = 1
		}
		s := &j.sides[i]
		s.decoder.Decode(&s.frame, s.packet)
		j.expire(j.inA(s.now, i))
		errs = append(errs, j.read(i))
		if errs[len(errs)-1] == nil {
			errs = errs[:len(errs)-1]
		}
	}
	return ctx.Err()
}

// read reads the next frame of a capture. It returns an error that is not io.EOF.
func (j *joiner) read(i int) error {
	s := &j.sides[i]
	if err := s.src.Next(&s.frame); err != nil {
		s.done = true
		if errors.Is(err, io.EOF) {
			return nil
		}
		return fmt.Errorf("%s: %w", j.o.Names[i], err)
	}
	c := &j.report.Captures[i]
	if t := nanoseconds(s.frame.Time); t != noTime {
		s.now = t
		if s.first == 0 {
			s.first, c.First = t, s.frame.Time
		}
		if t > s.last {
			s.last, c.Last = t, s.frame.Time
		}
	}
	return nil
}

// packet processes a packet of capture i.
func (j *joiner) packet(i int, p *trace.Packet) {
	if p.Copy = j.sides[i].copies.Original(p); p.Copy > 0 {
		j.report.Captures[i].Copies++
		return
	}
	j.sides[i].analyzer.Add(p)
	if p.Err != nil {
		return
	}
	d := j.directionOf(p)
	if d == nil {
		j.report.Unjudged++
		return
	}
	j.at = j.sides[i].now
	j.holes = min(j.holes+holePerPacket, holeBurst)
	c := classOf(p)
	j.findings(i, p, d, c)
	j.readResent(i, p, d)
	if c == requests && p.Again {
		d.resend(i, p.BTH.PSN)
	}
	d.follow(i, p, c)
	if c == acks || c == responses {
		if b := d.answered(i, p); b != nil {
			b.covered(i, p, c)
			b.judgeTimeouts(i, p, c)
		}
	}
	key := keyOf(p)
	if e := j.window.find(p, key, uint8(i), j.distance); e != none {
		j.match(i, p, d, c, &j.window.all[e])
		j.window.remove(e)
		return
	}
	if j.window.n >= maxPending {
		j.report.Early++
		j.drop(j.window.first)
	}
	e := entry{key: key, at: j.at, dir: d, frame: p.Number, psn: p.BTH.PSN, side: uint8(i), class: c,
		hop: p.IP.HopLimit, tos: p.IP.TrafficClass, wrong: p.ICRC.Verdict == trace.Wrong, again: p.Again,
		way: p.Direction}
	if p.ICRC.Verdict == trace.Right {
		e.icrc = p.ICRC.Wire
	}
	j.window.add(&e)
}

// covered notes that p, a response to requests of d, covers their PSNs.
func (d *direction) covered(side int, p *trace.Packet, c class) {
	end := p.BTH.PSN
	if s := p.BTH.AETH.Syndrome; c == responses || s.IsAck() {
		end = end.Add(1)
	}
	if a := &d.acked[side]; !a.known || end.Diff(a.PSN) > 0 {
		*a = psn{end, true}
	}
}

// match processes p, which the other capture has as e.
func (j *joiner) match(i int, p *trace.Packet, d *direction, c class, e *entry) {
	s := sample{tA: e.at, tB: j.at, fromX: d.fromX, known: true}
	ways := [2]capture.Direction{e.way, p.Direction}
	hops, tos, wrong, frames := [2]uint8{e.hop, p.IP.HopLimit}, [2]uint8{e.tos, p.IP.TrafficClass},
		[2]bool{e.wrong, p.ICRC.Verdict == trace.Wrong}, [2]int{e.frame, p.Number}
	if i == 0 {
		s.tA, s.tB = s.tB, s.tA
		slices.Reverse(ways[:])
		slices.Reverse(hops[:])
		slices.Reverse(tos[:])
		slices.Reverse(wrong[:])
		slices.Reverse(frames[:])
	}
	d.Counts.Both++
	d.both(frames)
	j.recent.put(eventKey{d, p.BTH.PSN, c}, frames)
	if p.Again || e.again {
		j.again.put(eventKey{d, p.BTH.PSN, c}, frames)
	}
	if d.pair != nil {
		d.pair.judge(s, hops, ways)
		j.settle(d.pair, s)
	}
	first, last := 0, 1
	switch d.order() {
	case unknownOrder:
		return
	case bFirst:
		first, last = 1, 0
	}
	d.Hops = max(0, int(hops[first])-int(hops[last]))
	if wrong[last] && !wrong[first] {
		d.Counts.Corrupt++
	}
	if tos[last]&3 == 3 && tos[first]&3 != 3 {
		d.Counts.Marked++
	}
	if delay := saturatingSub(s.tB-s.tA, j.offset(s.tA)); j.clock.fit.Fitted {
		if d.delays == nil {
			d.delays = &delays{}
		}
		if first == 1 {
			delay = -delay
		}
		d.delays.add(delay)
	}
}

// expire takes the entries that have waited for Options.Wait, and decides old events. now is the
// time in capture A.
func (j *joiner) expire(now int64) {
	for i := j.window.first; i != none; i = j.window.first {
		e := &j.window.all[i]
		if saturatingSub(now, j.inA(e.at, int(e.side))) <= j.wait {
			break
		}
		j.drop(i)
	}
	j.decideOld(saturatingSub(now, decideAfter*j.wait))
}

// drop removes entry i, a packet that only one capture has.
func (j *joiner) drop(i int32) {
	e := j.window.all[i]
	j.window.remove(i)
	d, s := e.dir, int(e.side)
	if e.again {
		frames := [2]int{}
		frames[s] = e.frame
		j.again.put(eventKey{d, e.psn, e.class}, frames)
	}
	at := j.inA(e.at, s)
	o := &j.sides[1-s]
	reach := int64(j.clock.fit.MinRTT)
	// If both captures have an earlier packet of the direction, the other capture had begun; if
	// they have a later one, it had not ended. The times alone do not tell: delays vary.
	begun, ended := d.earliest[s] > 0 && d.earliest[s] < e.frame, d.latest[s] < e.frame
	switch t := saturatingSub(o.first, reach); {
	case o.first == 0, !begun && at < j.inA(t, 1-s), ended && o.done && at > j.inA(o.last, 1-s):
		d.Counts.Outside++
		return
	}
	v := j.event(eventKey{d, e.psn, e.class}, at, func(v *event) bool { return v.only[s] > 0 })
	v.only[s], v.wrong, v.resent = e.frame, e.wrong, e.again
	if at < v.at { // v began with the retransmission
		v.at, v.again = at, [2]int{}
	}
}

// finish decides all events and completes the report.
func (j *joiner) finish() {
	for i := j.window.first; i != none; i = j.window.first {
		j.drop(i)
	}
	j.decideOld(math.MaxInt64)
	j.clock.solve()
	r := j.report
	r.Clock = j.clock.fit
	var all [2]delays
	for _, d := range j.ordered {
		switch d.order() {
		case aFirst:
			d.First = "A"
			all[0].merge(d.delays)
		case bFirst:
			d.First = "B"
			all[1].merge(d.delays)
		}
		d.Delay = d.delays.summary()
		r.Total.add(&d.Counts)
	}
	for i := range j.sides {
		r.Captures[i].Counts = j.sides[i].decoder.Counts
		r.Delays[i] = all[i].summary()
	}
	slices.SortStableFunc(r.Losses, func(x, y Loss) int {
		return cmp.Or(x.Time.Compare(y.Time), cmp.Compare(x.PSN,
			y.PSN))
	})
}
