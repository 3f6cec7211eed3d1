package congestion

import (
	"time"

	"github.com/gorxe/gorxe/trace"
)

// GlobalPause is the class of the pause frames of IEEE 802.3 annex 31B, which pause all classes.
const GlobalPause = 8

const numClasses = GlobalPause + 1

// Pause has the pause frames of one class.
type Pause struct {
	Class  int           `json:"class"`  // priority 0 to 7 (IEEE 802.1Qbb), or GlobalPause
	Frames uint64        `json:"frames"` // frames that start or extend a pause
	Resume uint64        `json:"resume"` // frames that end a pause: their time is 0
	Total  time.Duration `json:"total_ns"`
	Max    time.Duration `json:"max_ns"` // largest time of one frame
}

// maxPause is the longest time that a pause frame can request at 10 Mbit/s, rounded up: 65,535
// quanta of 512 bit times.
const maxPause = 4 * time.Second

// AddPause counts a pause frame that requests a pause of d for a class: a priority from 0 to 7, or
// [GlobalPause]. It ignores other classes; d is limited to 0 to 4 s. Total is the sum of the
// requested times: a sender pauses for less if another frame extends or ends the pause early.
func (t *Table) AddPause(class int, d time.Duration) {
	if class < 0 || class >= numClasses {
		return
	}
	p := &t.pauses[class]
	p.Class = class
	if d <= 0 {
		p.Resume++
		return
	}
	d = min(d, maxPause)
	p.Frames++
	p.Total += d
	p.Max = max(p.Max, d)
}

// Foreign counts the classes of a pause or PFC frame; it ignores other packets.
func (t *Table) Foreign(f *trace.Foreign) error {
	p := f.Pause
	switch {
	case p == nil:
	case !p.PFC:
		t.AddPause(GlobalPause, p.Time(0, t.LinkSpeed))
	default:
		for class := range GlobalPause {
			if p.Classes>>class&1 != 0 {
				t.AddPause(class, p.Time(class, t.LinkSpeed))
			}
		}
	}
	return nil
}

// Pauses returns the classes with pause frames, in ascending order.
func (t *Table) Pauses() []Pause {
	var out []Pause
	for _, p := range t.pauses {
		if p.Frames+p.Resume > 0 {
			out = append(out, p)
		}
	}
	return out
}
