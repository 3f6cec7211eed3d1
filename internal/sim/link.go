package sim

import (
	"slices"

	"github.com/gorxe/gorxe/transport"
)

// link is one direction of the way between two nodes.
type link struct {
	id   int
	spec *LinkSpec
	free Time // when the last frame has left
	sent uint32
}

// carry takes a frame to the other end, or loses it.
func (w *World) carry(l *link, f *frame) {
	l.sent++
	w.stats.Packets++
	w.stats.Bytes += uint64(len(f.raw))
	if w.tap != nil {
		w.tap(w.now, f.raw)
	}
	l.free = max(l.free, w.now)
	if l.full(w.now, len(f.raw)) {
		w.stats.Dropped++
		f.from.conn.disturbed++
		return
	}
	if l.spec.Rate > 0 {
		l.free += Time(float64(len(f.raw)) / l.spec.Rate)
	}
	at := l.free + l.spec.Delay
	if c := f.from.conn; at-w.now > transport.AckTimeout(c.ends[0].spec.Timeout)/8 {
		c.disturbed++ // so long a queue looks like a loss
	}
	if l.free >= l.spec.Dead[0] && l.free < l.spec.Dead[1] {
		w.stats.Unreachable++
		f.from.conn.disturbed++
		return
	}
	ft := w.fate(l, f)
	if ft.drop {
		w.stats.Dropped++
		return
	}
	if ft.duplicate {
		w.stats.Duplicated++
		if f.copies != nil {
			f.copies.made++
		}
		again := *f
		again.raw = slices.Clone(f.raw)
		w.queue.push(event{at: at + ft.again, kind: evArrive, frame: &again})
	}
	if ft.late > 0 {
		w.stats.Delayed++
	}
	if ft.corrupt {
		w.stats.Corrupted++
		f.flip(&ft)
	}
	w.queue.push(event{at: at + ft.late, kind: evArrive, frame: f})
}

// full reports whether n bytes more do not fit the queue.
func (l *link) full(now Time, n int) bool {
	waiting := float64(l.free-now) * l.spec.Rate
	return l.spec.Queue > 0 && int(waiting)+n > l.spec.Queue
}

// clear is when a sender that has more to send gets its next turn.
func (l *link) clear(now Time) Time {
	if l.spec.Queue > 0 {
		return now + 1 // the queue is further on: it holds nobody back
	}
	return max(now+1, l.free)
}

// fate decides about the frame that was just counted.
func (w *World) fate(l *link, f *frame) fate {
	if w.now >= w.sc.Calm {
		return fate{}
	}
	id := FaultID{l.id, l.sent}
	ft := l.spec.Faults.draw(w.sc.Seed, id)
	if !ft.any() || w.sc.Spared[id] {
		return fate{}
	}
	w.seen = append(w.seen, id)
	f.from.conn.disturbed++
	return ft
}
