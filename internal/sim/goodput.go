package sim

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/sim/model"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Bulk describes a stream of equal messages over one RC connection.
type Bulk struct {
	Op      qp.WROpcode
	MTU     qp.MTU
	Message int           // bytes
	Total   int           // bytes
	Depth   int           // outstanding messages
	Window  int           // PSNs
	Loss    float64       // probability that a link drops a packet
	Rate    float64       // bytes per nanosecond
	Delay   scenario.Time // one-way
	Timeout uint8         // local ACK timeout: 4.096 µs times 2^Timeout
	Runs    int           // number of runs, each with its own losses
}

// Goodput plays b and returns the goodput of each run, in message bytes per nanosecond.
func Goodput(b *Bulk) ([]float64, error) {
	var rates []float64
	for run := range b.Runs {
		rate, err := b.play(uint64(b.Window) + uint64(b.Loss*1e6)<<16 + uint64(run)<<40)
		if err != nil {
			return nil, fmt.Errorf("run %d: %w", run, err)
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// play executes one run and returns its goodput.
func (b *Bulk) play(seed uint64) (float64, error) {
	link := scenario.LinkSpec{Rate: b.Rate, Delay: b.Delay, Faults: scenario.Faults{Drop: b.Loss}}
	end := scenario.EndSpec{
		SigAll: true, MaxRdAtomic: 16, Timeout: b.Timeout, RetryCnt: 7, RNRRetry: scenario.InfiniteRNR, MinRNRTimer: 1,
		Config: transport.Config{Window: b.Window, WindowBytes: b.Window * int(b.MTU), AckEvery: 32, BackoffLimit: 4},
	}
	sc := &scenario.Scenario{
		Seed:      seed,
		Nodes:     make([]scenario.NodeSpec, 2),
		Links:     [][]scenario.LinkSpec{{{}, link}, {link, {}}},
		Conns:     []scenario.ConnSpec{{Type: qp.RC, MTU: b.MTU, Ends: [2]scenario.EndSpec{end, end}}},
		FaultsEnd: world.MaxAfterFaults,
	}
	sc.Conns[0].Ends[1].Node = 1
	act := &scenario.Act{Op: b.Op, SG: []qp.SGE{{Addr: scenario.MemBase, Length: uint32(b.Message)}},
		Remote: scenario.MemBase + scenario.MemSource}
	switch {
	case b.Op == qp.WRRead:
		act.SG[0].Addr, act.Remote = act.Remote, act.SG[0].Addr
	case scenario.TakesReceive(b.Op):
		act.Recv = []qp.SGE{{Addr: scenario.MemBase + scenario.MemSource, Length: uint32(b.Message)}}
	}
	net := model.New(sc, nil)
	done := net.Stream(act, b.Total/b.Message, b.Depth)
	if net.Violation != nil {
		return 0, net.Violation
	}
	return float64(done*b.Message) / float64(net.Now), nil
}
