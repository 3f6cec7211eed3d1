package world

import (
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"slices"
)

// Frame is one datagram in transit, from the IP header to the ICRC.
type Frame struct {
	Raw     []byte
	Damaged bool // a link has flipped bits
	Flow    *Flow
	To      Receiver
	Copies  *int // if not nil, incremented for each duplicate that a link makes
}

// Receiver receives the frames that a link delivers.
type Receiver interface {
	Arrive(f *Frame)
}

// Flow is the state shared by all frames of one connection.
type Flow struct {
	LossTimeout scenario.Time // transit time above which the sender treats a frame as lost
	Faults      int           // frames that a link did not deliver exactly once, in time and undamaged
}

// Link is one direction between two nodes.
type Link struct {
	Sent uint32 // frames

	id   int
	spec *scenario.LinkSpec
	free scenario.Time // time at which the link has sent its last queued frame
}

// Carry sends f over l: it schedules the frame's arrival, or drops the frame.
func (w *World) Carry(l *Link, f *Frame) {
	l.Sent++
	w.Stats.Packets++
	w.Stats.Bytes += uint64(len(f.Raw))
	if w.tap != nil {
		w.tap(w.Now, f.Raw)
	}
	l.free = max(l.free, w.Now)
	if l.full(w.Now, len(f.Raw)) {
		w.Stats.Dropped++
		f.Flow.Faults++
		return
	}
	if l.spec.Rate > 0 {
		l.free += scenario.Time(float64(len(f.Raw)) / l.spec.Rate)
	}
	at := l.free + l.spec.Delay
	if at-w.Now > f.Flow.LossTimeout {
		f.Flow.Faults++ // queued this long, the frame looks lost to its sender
	}
	if l.free >= l.spec.Dead[0] && l.free < l.spec.Dead[1] {
		w.Stats.Unreachable++
		f.Flow.Faults++
		return
	}
	ft := w.fate(l, f)
	if ft.drop {
		w.Stats.Dropped++
		return
	}
	if ft.duplicate {
		w.Stats.Duplicated++
		if f.Copies != nil {
			*f.Copies++
		}
		again := *f
		again.Raw = slices.Clone(f.Raw)
		w.At(at+ft.again, func() { again.To.Arrive(&again) })
	}
	if ft.late > 0 {
		w.Stats.Delayed++
	}
	if ft.corrupt {
		w.Stats.Corrupted++
		f.flip(&ft)
	}
	w.At(at+ft.late, func() { f.To.Arrive(f) })
}

// full reports whether another n bytes do not fit into the queue.
func (l *Link) full(now scenario.Time, n int) bool {
	waiting := float64(l.free-now) * l.spec.Rate
	return l.spec.Queue > 0 && int(waiting)+n > l.spec.Queue
}

// Clear returns the time of the next turn of a sender that has more to send.
func (l *Link) Clear(now scenario.Time) scenario.Time {
	if l.spec.Queue > 0 {
		return now + 1 // the queue is downstream and does not block the sender
	}
	return max(now+1, l.free)
}

// fate returns the faults of f, the frame that Carry just counted.
func (w *World) fate(l *Link, f *Frame) fate {
	if w.Now >= w.sc.FaultsEnd {
		return fate{}
	}
	id := scenario.FaultID{Link: l.id, Frame: l.Sent}
	ft := draw(&l.spec.Faults, w.sc.Seed, id)
	if !ft.any() || w.sc.Suppressed[id] {
		return fate{}
	}
	w.Faults = append(w.Faults, id)
	f.Flow.Faults++
	return ft
}
