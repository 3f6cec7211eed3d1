package sim

import (
	"github.com/gorxe/gorxe/internal/sim/model"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
)

// Result is the outcome of a run.
type Result struct {
	Stats  world.Stats
	Err    *world.Violation   // nil if the run has no violation
	Faults []scenario.FaultID // link faults that the run applied
}

// Run plays sc. If tap is not nil, Run calls it with every datagram as it is sent; tap must not
// keep the slice.
func Run(sc *scenario.Scenario, tap func(at scenario.Time, datagram []byte)) Result {
	net := model.New(sc, tap)
	net.Play()
	net.Finish()
	return Result{net.Stats, net.Violation, net.Faults}
}
