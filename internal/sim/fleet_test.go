package sim

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// fleet returns a scenario of 16 queue pairs that post two messages of 32 KiB each at the same
// moment, to a node that accepts perMS packets per millisecond and queues up to queue packets.
func fleet(op qp.WROpcode, seed uint64, perMS, queue int) *scenario.Scenario {
	const pairs, mtu, message = 16, 1024, 32 << 10
	const packet = mtu + 60 // with headers
	slow := scenario.LinkSpec{Rate: float64(perMS) * packet / float64(scenario.Millisecond),
		Delay: 50 * scenario.Microsecond, Queue: queue * packet}
	sc := &scenario.Scenario{Seed: seed, Nodes: make([]scenario.NodeSpec, 2),
		Links: [][]scenario.LinkSpec{{{}, slow}, {slow, {}}}, FaultsEnd: world.MaxAfterFaults}
	for i := range pairs {
		end := scenario.EndSpec{
			SigAll: true, MaxRdAtomic: 16, Timeout: 14, RetryCnt: 7, RNRRetry: scenario.InfiniteRNR, MinRNRTimer: 1,
			Config: transport.DefaultConfig(),
		}
		sc.Conns = append(sc.Conns, scenario.ConnSpec{Type: qp.RC, MTU: mtu, Ends: [2]scenario.EndSpec{end, end}})
		sc.Conns[i].Ends[1].Node = 1
		act := scenario.Act{At: 1, Conn: i, Op: op, SG: []qp.SGE{{Addr: scenario.MemBase, Length: message}},
			Remote: scenario.MemBase + scenario.MemSource}
		switch {
		case op == qp.WRRead:
			act.SG[0].Addr, act.Remote = act.Remote, act.SG[0].Addr
		case scenario.TakesReceive(op):
			act.Recv = []qp.SGE{{Addr: scenario.MemBase + scenario.MemSource, Length: message}}
		}
		sc.Acts = append(sc.Acts, act, act)
	}
	return sc
}

// Each queue pair alone would fit. Together they overrun the queue, their timers expire together,
// and their retransmissions overrun it again.
func TestAFleetOfQueuePairsConvergesToWhatTheReceiverTakes(t *testing.T) {
	for _, op := range []qp.WROpcode{qp.WRWrite, qp.WRSend} {
		for _, queue := range []int{16, 64} {
			t.Run(fmt.Sprintf("%v, %d packets wait", op, queue), func(t *testing.T) {
				for seed := range uint64(3) {
					r := Run(fleet(op, seed, 2, queue), nil)
					if r.Err != nil {
						t.Fatalf("seed %d: %v", seed, r.Err)
					}
					if r.Stats.Dropped == 0 || r.Stats.Errors != 0 {
						t.Errorf("seed %d: %d packets dropped, %d requests failed with RETRY_EXC_ERR and %d in all",
							seed, r.Stats.Dropped, r.Stats.RetriesExceeded, r.Stats.Errors)
					}
				}
			})
		}
	}
}
