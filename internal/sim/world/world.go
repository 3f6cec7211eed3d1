package world

import (
	"fmt"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"math/rand/v2"
)

// MaxAfterCalm is the longest that a scenario may last after its faults.
const MaxAfterCalm = 60 * scenario.Second

// maxSteps is the most events of a scenario.
const maxSteps = 5_000_000

// Violation is a promise that was not kept.
type Violation struct {
	At    scenario.Time
	Where string
	What  string
}

// Error says when, where and what.
func (v *Violation) Error() string {
	return fmt.Sprintf("at %d ns, %s: %s", v.At, v.Where, v.What)
}

// World is the clock of a scenario, the events to come and the links between nodes.
type World struct {
	Now       scenario.Time
	RNG       *rand.Rand // draws the order of turns
	Stats     Stats
	Violation *Violation         // the first, which ends the run
	Faults    []scenario.FaultID // decisions of links that were carried out

	sc    *scenario.Scenario
	queue queue
	links [][]*Link
	tap   func(at scenario.Time, datagram []byte)
}

// New returns the world of a scenario before its first event. tap, if not nil, sees every
// datagram as it leaves; it must not keep it.
func New(sc *scenario.Scenario, tap func(at scenario.Time, datagram []byte)) *World {
	w := &World{Now: 1, RNG: rand.New(rand.NewPCG(sc.Seed, 0x7475726e73)), sc: sc, tap: tap}
	for i, to := range sc.Links {
		w.links = append(w.links, nil)
		for j := range to {
			w.links[i] = append(w.links[i], &Link{id: i*len(sc.Nodes) + j, spec: &sc.Links[i][j]})
		}
	}
	return w
}

// Fail notes the first violation, which ends the run.
func (w *World) Fail(where, format string, args ...any) {
	if w.Violation == nil {
		w.Violation = &Violation{w.Now, where, fmt.Sprintf(format, args...)}
	}
}

// Link returns the direction from one node to another.
func (w *World) Link(from, to int) *Link { return w.links[from][to] }

// At calls do when the clock reaches a time. Of equal times the first that was asked for comes
// first.
func (w *World) At(at scenario.Time, do func()) { w.queue.push(event{at: at, do: do}) }

// Play lets events happen until none is left or a promise is broken.
func (w *World) Play() {
	for w.Violation == nil && w.Step() {
	}
}

// Step lets the next event happen; false when there is none.
func (w *World) Step() bool {
	ev, ok := w.queue.pop()
	if !ok {
		return false
	}
	w.Now = max(w.Now, ev.at)
	w.Stats.Steps++
	if w.Now > w.sc.Calm+MaxAfterCalm || w.Stats.Steps > maxSteps {
		w.Fail("the world", "%d steps, and no end", w.Stats.Steps)
	}
	ev.do()
	return true
}
