package scenario

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Simple returns a scenario of a seed: 2 to 4 nodes, 2 to 8 connections, mixed faults.
func Simple(seed uint64) *Scenario {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x676f727865)), sc: &Scenario{Seed: seed}}
	for range 2 + g.r.IntN(3) {
		g.sc.Nodes = append(g.sc.Nodes, NodeSpec{IPv6: g.one(2), CallMemory: !g.one(3)})
	}
	g.network()
	for range 2 + g.r.IntN(7) {
		g.conn()
	}
	g.order()
	return g.sc
}

// order sorts the acts by time and sets the time at which faults end.
func (g *generator) order() {
	slices.SortStableFunc(g.sc.Acts, func(a, b Act) int { return cmp.Compare(a.At, b.At) })
	for i := range g.sc.Acts {
		g.sc.FaultsEnd = max(g.sc.FaultsEnd, g.sc.Acts[i].At+2*Millisecond)
	}
}

type generator struct {
	r  *rand.Rand
	sc *Scenario
}

// one returns true with probability 1/n.
func (g *generator) one(n int) bool { return g.r.IntN(n) == 0 }

func pick[T any](g *generator, of ...T) T { return of[g.r.IntN(len(of))] }

// upTo returns a random time from 0 to t.
func (g *generator) upTo(t Time) Time { return Time(g.r.Int64N(int64(t) + 1)) }

// network draws the links. Each has its own rate, delay and faults.
func (g *generator) network() {
	n := len(g.sc.Nodes)
	g.sc.Links = make([][]LinkSpec, n)
	for i := range n {
		g.sc.Links[i] = make([]LinkSpec, n)
		for j := range n {
			l := LinkSpec{Rate: pick(g, 0, 0.125, 1.25, 12.5), Delay: 200 + g.upTo(20*Microsecond), Faults: g.faults()}
			if g.one(8) {
				l.Dead[0] = g.upTo(Millisecond)
				l.Dead[1] = l.Dead[0] + g.upTo(20*Millisecond)
			}
			g.sc.Links[i][j] = l
		}
	}
}

func (g *generator) faults() Faults {
	f := Faults{Span: 1 + g.upTo(pick(g, 5*Microsecond, 100*Microsecond, Millisecond))}
	switch g.r.IntN(8) {
	case 0: // no faults
	case 1:
		f.Drop = 0.01
	case 2:
		f.Drop = 0.2 * g.r.Float64()
	case 3:
		f.Duplicate = 0.3 * g.r.Float64()
	case 4:
		f.Reorder = 0.3 * g.r.Float64()
	case 5:
		f.Corrupt = 0.1 * g.r.Float64()
	default:
		f.Drop, f.Duplicate, f.Reorder, f.Corrupt =
			0.05*g.r.Float64(), 0.1*g.r.Float64(), 0.1*g.r.Float64(), 0.03*g.r.Float64()
	}
	return f
}

// conn adds a connection of a random type.
func (g *generator) conn() {
	c := ConnSpec{Type: qp.RC, MTU: qp.MTU(256 << g.r.IntN(5))}
	switch g.r.IntN(10) {
	case 0:
		c.Type = qp.UC
	case 1:
		c.Type = qp.UD
	}
	g.ends(&c)
}

// ends adds c with random ends, and their programs.
func (g *generator) ends(c *ConnSpec) {
	timeout := uint8(6 + g.r.IntN(6)) // 0.26 to 8.4 ms
	for i := range c.Ends {
		e := &c.Ends[i]
		*e = EndSpec{
			Node: g.r.IntN(len(g.sc.Nodes)), PSN: bth.PSN(g.r.Uint32()) & bth.MaxPSN,
			SigAll: g.one(2), SRQ: g.one(4), MaxRdAtomic: uint8(1 + g.r.IntN(6)),
			Timeout: timeout, RetryCnt: pick[uint8](g, 0, 1, 5, 7, 7, 7, 7, 7),
			RNRRetry: pick[uint8](g, 0, 1, 6, 7, 7, 7, 7, 7), MinRNRTimer: uint8(1 + g.r.IntN(14)),
			Config: transport.Config{
				Window: pick(g, 1, 2, 5, 16, 64, 128), AckEvery: 1 + g.r.IntN(40), BackoffLimit: 1 + g.r.IntN(4),
				WindowBytes: pick(g, 0, 4096, 64<<10), MaxWindow: pick(g, 0, 0, 3, 40, 300),
				ReadChunk: pick(g, 0, 0, 0, 1, 3, 8),
			},
		}
		if g.one(3) {
			e.PSN = bth.PSN(0).Sub(uint32(1 + g.r.IntN(60))) // makes the PSN wrap
		}
	}
	g.sc.Conns = append(g.sc.Conns, *c)
	g.program(len(g.sc.Conns)-1, c)
}

// program adds acts to a connection: mostly posts, and some that disturb it.
func (g *generator) program(conn int, c *ConnSpec) {
	start := g.upTo(200 * Microsecond)
	bursty := g.one(2)
	for range 4 + g.r.IntN(30) {
		if !bursty || g.one(6) {
			start += g.upTo(60 * Microsecond)
		}
		a := Act{At: start, Conn: conn, End: g.r.IntN(2), Kind: ActPost}
		switch {
		case g.one(60):
			g.disturb(a)
			continue
		case g.one(30) && c.Type == qp.RC:
			a.Kind, a.Imm = ActForgeResponse, g.r.Uint32()
			g.sc.Acts = append(g.sc.Acts, a)
			continue
		case g.one(20):
			a.Kind = ActReconnectIfDown
			a.At += g.upTo(3 * Millisecond)
			g.sc.Acts = append(g.sc.Acts, a)
			start += g.upTo(3 * Millisecond)
			continue
		}
		g.request(&a, c)
		g.sc.Acts = append(g.sc.Acts, a)
	}
}

// disturb adds an act that ends or pauses a connection, and the act that restores it.
func (g *generator) disturb(a Act) {
	a.Kind = pick(g, ActError, ActReset, ActReconnect, ActDrain, ActDrain, ActDeregister, ActDeregisterLocal)
	g.sc.Acts = append(g.sc.Acts, a)
	switch a.Kind {
	case ActDrain:
		a.Kind = ActResume
	case ActReconnect:
		return
	default:
		a.Kind = ActReconnect
	}
	a.At += g.upTo(3 * Millisecond)
	g.sc.Acts = append(g.sc.Acts, a)
}
