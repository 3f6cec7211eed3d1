package self

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
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
		Cases: []string{"congestion/2"},
		hooks: notifies(func(g *frame) { g.PSN = 1 }),
	},
	{
		Name: "cnp-fields", Breaks: "A CNP has SE set.",
		Cases: []string{"congestion/2"},
		hooks: notifies(func(g *frame) { g.Solicited = true }),
	},
	{
		Name: "cnp-no-becn", Breaks: "A CNP has no BECN.",
		Cases: []string{"congestion/2"},
		hooks: notifies(func(g *frame) { g.BECN = false }),
	},
	{
		Name: "cnp-pkey", Breaks: "A CNP has another P_Key than the marked packet.",
		Cases: []string{"congestion/2"},
		hooks: notifies(func(g *frame) { g.PKey = 0x1234 }),
	},
	{
		Name: "cnp-unasked", Breaks: "A CNP is sent for packets with ECT that have no mark.",
		Cases: []string{"congestion/4"},
		hooks: in(func(w *world, f *frame) {
			if g := w.cnpFor(f); g != nil && (f.tos&3 == 1 || f.tos&3 == 2) {
				w.toTester(g)
			}
		}),
	},
	{
		Name: "ce-drop", Breaks: "A packet with CE is dropped.",
		Cases: []string{"congestion/1"},
		hooks: dropIn((*frame).ce),
	},
	{
		Name: "cnp-not-zero", Breaks: "The 16 bytes of a CNP are not zero.",
		Cases: []string{"congestion/3"},
		hooks: in(func(w *world, f *frame) {
			if g := w.cnpFor(f); f.ce() && g != nil {
				g.header = func(ip []byte) []byte {
					ip[len(ip)-bth.ICRCLen-1] = 1
					return wire.FixICRC(ip)
				}
				w.toTester(g)
			}
		}),
	},
	{
		Name: "cnp-sender", Breaks: "CNPs are sent for packets with CE, as congestion management wants it.",
		Cases: []string{"congestion/5"},
		Shows: "CNPs", hooks: notifies(func(*frame) {}),
	},
	{
		Name: "cnp-slows", Breaks: "A CNP delays the next READ, as congestion management wants it.",
		Cases:    []string{"congestion/6"},
		Supports: true, hooks: slows(false),
	},
	{
		Name: "cnp-slow-for-ever", Breaks: "After a CNP, READs are slow for ever.",
		Cases: []string{"congestion/7"},
		hooks: slows(true),
	},
	{
		Name: "cnp-unknown", Breaks: "A CNP to an unknown queue pair is answered.",
		Cases: []string{"congestion/8"},
		hooks: in(func(w *world, f *frame) {
			if f.is(bth.OpCNP) && f.flow == nil {
				w.acknowledgeAll(f)
			}
		}),
	},
	{
		Name: "cnp-cut", Breaks: "A CNP that is cut is answered.",
		Cases: []string{"congestion/10"},
		hooks: in(func(w *world, f *frame) {
			if f.err != nil && len(f.data) >= bth.BTHLen && bth.Opcode(f.data[0]) == bth.CNP {
				w.acknowledgeAll(f)
			}
		}),
	},
	{
		Name: "cnp-kills", Breaks: "After a CNP, the queue pair does not answer.",
		Cases: []string{"congestion/8", "congestion/9"},
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
		Cases: []string{"congestion/9"},
		hooks: in(func(w *world, f *frame) {
			if !f.is(bth.OpCNP) {
				return
			}
			w.acknowledgeAll(f)
		}),
	},
}

// acknowledgeAll sends an acknowledgement to the tester on each connection, as an answer to f.
func (w *world) acknowledgeAll(f *frame) {
	for _, flow := range w.flows {
		g := w.ackFor(f, flow.next, bth.AckUnlimited, 0)
		g.DestQP = flow.local.QPN
		w.toTester(g)
	}
}

// slowREAD is the delay of a READ after a CNP.
const slowREAD = 80 * time.Millisecond

// slows makes hooks: a READ is delayed after a CNP; all later ones too if ever is set.
func slows(ever bool) func(*world) hooks {
	return func(w *world) hooks {
		slow := false
		return hooks{in: func(f *frame) {
			if f.is(bth.OpCNP) {
				slow = true
			}
			if slow && f.is(bth.OpReadRequest) {
				slow = ever
				g := f.clone()
				f.drop()
				w.after(slowREAD, func() { w.toDevice(g) })
			}
		}}
	}
}
