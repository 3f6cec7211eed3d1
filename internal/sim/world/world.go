package world

import (
	"fmt"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"math/rand/v2"
)

// MaxAfterFaults is the longest time that a scenario may last after its last fault.
const MaxAfterFaults = 60 * scenario.Second

// maxSteps is the maximum number of events in a scenario.
const maxSteps = 5_000_000

// Violation is a broken rule.
type Violation struct {
	At    scenario.Time
	Where string
	What  string
}

// Error returns the time, place and description of the violation.
func (v *Violation) Error() string {
	return fmt.Sprintf("at %d ns, %s: %s", v.At, v.Where, v.What)
}

// World is the clock of a scenario, its pending events and the links between its nodes.
type World struct {
	Now       scenario.Time
	RNG       *rand.Rand // source of the random order of turns
	Stats     Stats
	Violation *Violation         // the first violation, which ends the run
	Faults    []scenario.FaultID // link faults that were applied

	sc    *scenario.Scenario
	queue queue
	links [][]*Link
	tap   func(at scenario.Time, datagram []byte)
}

// New returns the world of sc before its first event. If tap is not nil, it is called with every
// datagram as it is sent; tap must not keep the slice.
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

// Fail records the first violation, which ends the run. Later ones are ignored.
func (w *World) Fail(where, format string, args ...any) {
	if w.Violation == nil {
		w.Violation = &Violation{w.Now, where, fmt.Sprintf(format, args...)}
	}
}

// Link returns the link from one node to another.
func (w *World) Link(from, to int) *Link { return w.links[from][to] }

// At schedules do at a time. Functions scheduled for the same time run in the order of their
// calls to At.
func (w *World) At(at scenario.Time, do func()) { w.queue.push(event{at: at, do: do}) }

// Play processes events until none is left or a rule is broken.
func (w *World) Play() {
	for w.Violation == nil && w.Step() {
	}
}

// Step processes the next event. It returns false if there is none.
func (w *World) Step() bool {
	ev, ok := w.queue.pop()
	if !ok {
		return false
	}
	w.Now = max(w.Now, ev.at)
	w.Stats.Steps++
	if w.Now > w.sc.FaultsEnd+MaxAfterFaults || w.Stats.Steps > maxSteps {
		w.Fail("the world", "%d steps, and no end", w.Stats.Steps)
	}
	ev.do()
	return true
}
