package sim

import (
	"github.com/gorxe/gorxe/internal/sim/model"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
)

// Result is how a run ended.
type Result struct {
	Stats  world.Stats
	Err    *world.Violation   // nil when all promises were kept
	Faults []scenario.FaultID // decisions of links that were carried out
}

// Run plays a scenario. tap, if not nil, sees every datagram as it leaves; it must not
// keep it.
func Run(sc *scenario.Scenario, tap func(at scenario.Time, datagram []byte)) Result {
	net := model.New(sc, tap)
	net.Play()
	net.Finish()
	return Result{net.Stats, net.Violation, net.Faults}
}
