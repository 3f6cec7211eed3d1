package scenario

import (
	"math/rand/v2"
	"slices"

	"github.com/gorxe/gorxe/qp"
)

// Generate returns the scenario of a seed. It adds to the scenario of [Simple] with a separate
// random source, so that the scenario of Simple for a seed stays the same when Generate changes.
func Generate(seed uint64) *Scenario {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x6d6f7265)), sc: Simple(seed)}
	if g.one(3) {
		g.groups()
	}
	g.notices()
	if !g.one(3) {
		g.openings()
	}
	if g.one(2) {
		g.queues()
	}
	g.probes()
	g.trains()
	g.order()
	return g.sc
}

// notices makes some ends stay in RTR, request SQ_DRAINED and arm SRQ limits.
func (g *generator) notices() {
	for i := range g.sc.Acts {
		a := &g.sc.Acts[i]
		a.Notify = a.Kind == ActDrain && !g.one(4)
	}
	for i := range g.sc.Conns {
		for side := range g.sc.Conns[i].Ends {
			e := &g.sc.Conns[i].Ends[side]
			if g.one(6) {
				e.RTRTime = 1 + g.upTo(pick(g, 100*Microsecond, 2*Millisecond))
			}
			for e.SRQ && g.one(2) {
				g.add(Act{Conn: i, End: side, Kind: ActLimit, Imm: uint32(g.r.IntN(6))})
			}
		}
	}
}

// probes gives some requesters a short ProbeAfter.
func (g *generator) probes() {
	for i := range g.sc.Conns {
		for side := range g.sc.Conns[i].Ends {
			if e := &g.sc.Conns[i].Ends[side]; g.one(2) {
				e.Config.ProbeAfter = 1 + g.upTo(pick(g, Microsecond, 50*Microsecond))
			}
		}
	}
}

// trains gives some ends links with segmentation offload, lets some hold acknowledgements, and
// limits what some nodes have outstanding.
func (g *generator) trains() {
	for i := range g.sc.Conns {
		for side := range g.sc.Conns[i].Ends {
			e := &g.sc.Conns[i].Ends[side]
			e.Trains, e.HoldsACKs = g.one(2), g.one(2)
		}
	}
	for i := range g.sc.Nodes {
		if n := &g.sc.Nodes[i]; g.one(2) {
			n.Share = 1 + g.r.IntN(pick(g, 4, 30, 200))
			n.ShareTurn = 1 + g.r.IntN(pick(g, 1, 8, 70))
		}
	}
}

// openings makes some keys zero-based, re-registers regions, binds the type 1 windows and makes
// some requests use their keys.
func (g *generator) openings() {
	for i := range g.sc.Acts {
		if a := &g.sc.Acts[i]; a.Kind == ActPost && g.one(4) && a.Op != qp.WRBindMW {
			a.Key = KeyShared
		}
	}
	for i := range g.sc.Conns {
		c := &g.sc.Conns[i]
		for side := range c.Ends {
			e := &c.Ends[side]
			e.Zero = ZeroBased{Local: g.one(4), Region: g.one(8), Fast: g.one(3), Window: g.one(3)}
			a := Act{Conn: i, End: side}
			if c.Type != qp.UD && g.one(2) {
				a.Kind, a.Op, a.Key = ActPost, qp.WRBindMW, KeyShared
				for range 1 + g.r.IntN(3) {
					a.Remote = MemBase + 64 + uint64(8*g.r.IntN(100))
					a.Add = MemSize - 64 - 800 - uint64(g.r.IntN(2000))
					a.Imm, a.Match = g.r.Uint32(), g.one(6)
					g.add(a)
				}
			}
			a = Act{Conn: i, End: side, Kind: ActReregister}
			if g.one(8) {
				g.add(Act{Conn: i, End: side, Kind: ActReregisterLocal, Add: g.r.Uint64N(1 << 40)})
			}
			for g.one(4) {
				a.Imm, a.Match, a.Add = g.r.Uint32(), g.one(2), uint64(8*(1+g.r.IntN(8)))
				g.add(a)
				a.Imm, a.Match = 0, false
				g.add(a)
			}
		}
	}
}

// queues makes ends share CQs that their programs poll rarely and resize, and that can overflow.
func (g *generator) queues() {
	for i := range g.sc.Nodes {
		for n := &g.sc.Nodes[i]; g.one(2); {
			spec := CQSpec{Depth: 1 + g.r.IntN(pick(g, 20, 80, 300)),
				Every: 1 + g.upTo(pick(g, 5*Microsecond, 100*Microsecond, 2*Millisecond)), Batch: pick(g, 1, 8, 100)}
			n.CQs = append(n.CQs, spec)
		}
	}
	for i := range g.sc.Conns {
		for side := range g.sc.Conns[i].Ends {
			e := &g.sc.Conns[i].Ends[side]
			if n := len(g.sc.Nodes[e.Node].CQs); n > 0 && g.one(3) {
				e.CQ = 1 + g.r.IntN(n)
				for !g.one(3) {
					g.add(Act{Conn: i, End: side, Kind: ActResize, Imm: uint32(g.r.IntN(100))})
				}
			}
		}
	}
}

// groups adds UD queue pairs and multicast groups with members from all UD queue pairs.
func (g *generator) groups() {
	for range 1 + g.r.IntN(3) {
		g.ends(&ConnSpec{Type: qp.UD, MTU: qp.MTU(256 << g.r.IntN(5))})
	}
	ipv6 := !slices.ContainsFunc(g.sc.Nodes, func(n NodeSpec) bool { return !n.IPv6 })
	n := 1 + g.r.IntN(2)
	for i := range n {
		spec := GroupSpec{IPv6: ipv6 && g.one(2)}
		for c := range g.sc.Conns {
			for side := range 2 {
				if g.sc.Conns[c].Type != qp.UD {
					continue
				}
				if !g.one(4) {
					spec.Members = append(spec.Members, Member{c, side})
				}
				if g.one(4) {
					g.add(Act{Conn: c, End: side, Kind: ActJoin, Group: i + 1})
				}
			}
		}
		g.sc.Groups = append(g.sc.Groups, spec)
	}
	for i := range g.sc.Acts {
		if a := &g.sc.Acts[i]; a.Kind == ActPost && g.sc.Conns[a.Conn].Type == qp.UD && g.one(2) {
			a.Group = 1 + g.r.IntN(n)
		}
	}
}

// add adds a at a random time of the program.
func (g *generator) add(a Act) {
	a.At = g.upTo(max(0, g.sc.FaultsEnd-2*Millisecond))
	g.sc.Acts = append(g.sc.Acts, a)
}
