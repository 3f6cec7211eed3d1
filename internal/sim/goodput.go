package sim

import (
	"fmt"

	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Bulk is a stream of equal messages over one reliable connection.
type Bulk struct {
	Op      qp.WROpcode
	MTU     qp.MTU
	Message int // bytes
	Total   int // bytes
	Depth   int // messages outstanding
	Window  int // PSNs
	Loss    float64
	Rate    float64 // bytes a nanosecond
	Delay   Time    // one way
	Timeout uint8
	Runs    int // each with losses of its own
}

// Goodput plays b and returns of each run how many bytes of messages arrived in a nanosecond.
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

// play is one run.
func (b *Bulk) play(seed uint64) (float64, error) {
	link := LinkSpec{Rate: b.Rate, Delay: b.Delay, Faults: Faults{Drop: b.Loss}}
	end := EndSpec{
		SigAll: true, MaxRdAtomic: 16, Timeout: b.Timeout, RetryCnt: 7, RNRRetry: infinite, MinRNRTimer: 1,
		Config: transport.Config{Window: b.Window, WindowBytes: b.Window * int(b.MTU), AckEvery: 32, BackoffLimit: 4},
	}
	sc := &Scenario{
		Seed:  seed,
		Nodes: make([]NodeSpec, 2),
		Links: [][]LinkSpec{{{}, link}, {link, {}}},
		Conns: []ConnSpec{{Type: qp.RC, MTU: b.MTU, Ends: [2]EndSpec{end, end}}},
		Calm:  limit,
	}
	sc.Conns[0].Ends[1].Node = 1
	act := &Act{Op: b.Op, SG: []qp.SGE{{Addr: memBase, Length: uint32(b.Message)}}, Remote: memBase + memSource}
	switch {
	case b.Op == qp.WRRead:
		act.SG[0].Addr, act.Remote = act.Remote, act.SG[0].Addr
	case takesReceive(b.Op):
		act.Recv = []qp.SGE{{Addr: memBase + memSource, Length: uint32(b.Message)}}
	}
	w := newWorld(sc)
	e := w.conns[0].ends[0]
	total := b.Total / b.Message
	for w.bad == nil && e.oldest < total {
		for len(e.sends) < total && len(e.sends)-e.oldest < b.Depth {
			e.post(act)
			e.ready()
		}
		if !w.step() {
			break
		}
	}
	if w.bad != nil {
		return 0, w.bad
	}
	return float64(e.oldest*b.Message) / float64(w.now), nil
}
