package sim

import "math/rand/v2"

// Generate makes a scenario of a seed: that of [Simple], and what came to be simulated
// later. It is drawn apart, so that a seed of Simple means what it always did.
func Generate(seed uint64) *Scenario {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x6d6f7265)), sc: Simple(seed)}
	g.notices()
	g.order()
	return g.sc
}

// notices lets ends wait in RTR, ask for SQ_DRAINED and arm the limits of SRQs.
func (g *generator) notices() {
	for i := range g.sc.Acts {
		a := &g.sc.Acts[i]
		a.Notify = a.Kind == ActDrain && !g.one(4)
	}
	for i := range g.sc.Conns {
		for side := range g.sc.Conns[i].Ends {
			e := &g.sc.Conns[i].Ends[side]
			if g.one(6) {
				e.Late = 1 + g.upTo(pick(g, 100*microsecond, 2*millisecond))
			}
			for e.SRQ && g.one(2) {
				g.add(Act{Conn: i, End: side, Kind: ActLimit, Imm: uint32(g.r.IntN(6))})
			}
		}
	}
}

// add adds an act at some time of the program.
func (g *generator) add(a Act) {
	a.At = g.upTo(max(0, g.sc.Calm-2*millisecond))
	g.sc.Acts = append(g.sc.Acts, a)
}
