package sim_test

import (
	"testing"

	"github.com/gorxe/gorxe/internal/sim"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/qp"
)

// QP_FATAL is excluded: it reports memory that fails, and the nodes' memory does not fail.
func TestEveryEventOfAQueuePairHappens(t *testing.T) {
	var all world.Stats
	missing := func() (names []string) {
		for _, e := range []qp.EventType{
			qp.EventQPReqErr, qp.EventQPAccessErr, qp.EventCommEst, qp.EventSQDrained, qp.EventSRQLimitReached,
			qp.EventQPLastWQEReached,
		} {
			if all.Events[e] == 0 {
				names = append(names, e.Name())
			}
		}
		return names
	}
	for seed := range uint64(200) {
		r := sim.Run(scenario.Generate(seed), nil)
		if all.Add(&r.Stats); r.Err == nil && len(missing()) == 0 {
			return
		}
	}
	t.Errorf("%v happen in no run", missing())
}
