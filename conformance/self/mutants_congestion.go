package self

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// cnpFor returns a congestion notification packet of the endpoint for f, or nil if f has no flow.
func (w *world) cnpFor(f *frame) *frame {
	if f.flow == nil {
		return nil
	}
	g := w.reply(f, bth.CNP, 0)
	g.BECN, g.MigReq, g.PKey = true, false, f.PKey
	return g
}

// ce reports whether f is marked with congestion experienced.
func (f *frame) ce() bool { return f.tos&3 == 3 }

// notifies makes hooks: the endpoint sends CNPs, which change makes wrong.
func notifies(change func(g *frame)) func(*world) hooks {
	return in(func(w *world, f *frame) {
		if g := w.cnpFor(f); f.ce() && g != nil {
			change(g)
			w.toTester(g)
		}
	})
}

// congestionMutants break rules of congestion management. The endpoint sends no CNPs itself.
var congestionMutants = []Mutant{
	{
		Name: "cnp-psn", Breaks: "A CNP has the PSN 1.",
		hooks: notifies(func(g *frame) { g.PSN = 1 }),
	},
	{
		Name: "cnp-fields", Breaks: "A CNP has SE set.",
		hooks: notifies(func(g *frame) { g.Solicited = true }),
	},
	{
		Name: "cnp-no-becn", Breaks: "A CNP has no BECN.",
		hooks: notifies(func(g *frame) { g.BECN = false }),
	},
	{
		Name: "cnp-pkey", Breaks: "A CNP has another P_Key than the marked packet.",
		hooks: notifies(func(g *frame) { g.PKey = 0x1234 }),
	},
	{
		Name: "cnp-unasked", Breaks: "A CNP is sent for packets with ECT that have no mark.",
		hooks: in(func(w *world, f *frame) {
			if g := w.cnpFor(f); g != nil && (f.tos&3 == 1 || f.tos&3 == 2) {
				w.toTester(g)
			}
		}),
	},
	{
		Name: "ce-drop", Breaks: "A packet with CE is dropped.",
		hooks: dropIn((*frame).ce),
	},
	{
		Name: "cnp-kills", Breaks: "After a CNP, the queue pair does not answer.",
		hooks: func(*world) hooks {
			dead := false
			return hooks{in: func(f *frame) {
				dead = dead || f.is(bth.OpCNP)
				if dead && f.flow != nil {
					f.drop()
				}
			}}
		},
	},
	{
		Name: "cnp-answered", Breaks: "A CNP is acknowledged.",
		hooks: in(func(w *world, f *frame) {
			if !f.is(bth.OpCNP) {
				return
			}
			for _, flow := range w.flows {
				g := w.ackFor(f, flow.next, bth.AckUnlimited, 0)
				g.DestQP, g.flags = flow.local.QPN, packet.DontFragment
				w.toTester(g)
			}
		}),
	},
}
