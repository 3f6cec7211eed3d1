package self

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// madIn and madOut make hooks that see messages of one kind to and from the endpoint.
func madIn(a cmsg.Attribute, f func(w *world, f *frame, m *cmsg.MAD)) func(*world) hooks {
	return in(func(w *world, x *frame) {
		if m, ok := x.mad(); ok && m.Attribute() == a {
			f(w, x, &m)
			x.setMAD(m)
		}
	})
}

func madOut(a cmsg.Attribute, f func(w *world, f *frame, m *cmsg.MAD)) func(*world) hooks {
	return out(func(w *world, x *frame) {
		if m, ok := x.mad(); ok && m.Attribute() == a {
			f(w, x, &m)
			x.setMAD(m)
		}
	})
}

// dropMAD drops a message.
func dropMAD(_ *world, f *frame, _ *cmsg.MAD) { f.drop() }

// set changes a field of a message.
func set(field cmsg.Field, v uint64) func(w *world, f *frame, m *cmsg.MAD) {
	return func(_ *world, _ *frame, m *cmsg.MAD) { m.Set(field, v) }
}

// repeated makes hooks that see the second and later messages of one kind to the endpoint with the
// same communication ID.
func repeated(a cmsg.Attribute, f func(w *world, f *frame, m *cmsg.MAD)) func(*world) hooks {
	return func(w *world) hooks {
		seen := map[uint64]bool{}
		return madIn(a, func(w *world, x *frame, m *cmsg.MAD) {
			id := m.Get(cmsg.LocalID)
			if seen[id] {
				f(w, x, m)
			}
			if len(seen) < maxAsked {
				seen[id] = true
			}
		})(w)
	}
}

// cmMutants break rules of the communication manager.
var cmMutants = []Mutant{
	{
		Name: "cm-any-qkey", Breaks: "A message with another Q_Key than that of queue pair 1 is accepted.",
		Cases: []string{"cm/2"},
		hooks: changeIn(func(f *frame) bool { return f.err == nil && f.DestQP == bth.GSI },
			func(f *frame) { f.DETH.QKey = cmsg.QKey }),
	},
	{
		Name: "cm-needs-lids", Breaks: "A REQ with LIDs is dropped.",
		Cases: []string{"cm/3"},
		hooks: madIn(cmsg.REQ, func(_ *world, f *frame, m *cmsg.MAD) {
			if m.Get(cmsg.REQLocalLID) != 0xffff || m.Get(cmsg.REQRemoteLID) != 0xffff {
				f.drop()
			}
		}),
	},
	{
		Name: "cm-mra", Breaks: "After the first connection, a REQ gets an MRA and nothing else.",
		Cases: []string{"cm/1"},
		hooks: func(w *world) hooks {
			connected := false
			return hooks{in: func(f *frame) {
				m, ok := f.mad()
				switch {
				case !ok:
				case m.Attribute() == cmsg.RTU:
					connected = true
				case m.Attribute() == cmsg.REQ && connected:
					w.sendMAD(f, &m, cmsg.MRA, func(*cmsg.MAD) {})
					f.drop()
				}
			}}
		},
	},
	{
		Name: "cm-second-req-rejected", Breaks: "A second copy of a REQ is rejected.",
		Cases: []string{"cm/5"},
		hooks: repeated(cmsg.REQ, func(w *world, f *frame, m *cmsg.MAD) {
			w.sendMAD(f, m, cmsg.REJ, func(r *cmsg.MAD) { r.Set(cmsg.REJReason, 4) })
			f.drop()
		}),
	},
	{
		Name: "cm-second-connection", Breaks: "A second copy of a REQ makes a second connection.",
		Cases: []string{"cm/5"},
		hooks: func(*world) hooks {
			n := map[uint64]uint64{} // REPs by communication ID of the tester
			return madOut(cmsg.REP, func(_ *world, _ *frame, m *cmsg.MAD) {
				id := m.Get(cmsg.RemoteID)
				m.Set(cmsg.LocalID, m.Get(cmsg.LocalID)+n[id])
				m.Set(cmsg.REPQPN, m.Get(cmsg.REPQPN)+n[id])
				n[id]++
			})(nil)
		},
	},
	{
		Name: "cm-second-rtu", Breaks: "A second copy of an RTU is rejected.",
		Cases: []string{"cm/8"},
		hooks: repeated(cmsg.RTU, func(w *world, f *frame, m *cmsg.MAD) {
			w.sendMAD(f, m, cmsg.REJ, func(r *cmsg.MAD) { r.Set(cmsg.REJReason, 4) })
			f.drop()
		}),
	},
	{
		Name: "cm-ignores-mra", Breaks: "An MRA for a REP is dropped.",
		Cases: []string{"cm/9"},
		hooks: madIn(cmsg.MRA, dropMAD),
	},
	{
		Name: "cm-stale", Breaks: "A REQ of a peer with another GUID than before is rejected as stale.",
		Cases: []string{"cm/12"},
		hooks: func(w *world) hooks {
			guid := uint64(0)
			return madIn(cmsg.REQ, func(w *world, f *frame, m *cmsg.MAD) {
				if guid == 0 {
					guid = m.Get(cmsg.REQGUID)
				}
				if m.Get(cmsg.REQGUID) != guid {
					w.sendMAD(f, m, cmsg.REJ, func(r *cmsg.MAD) { r.Set(cmsg.REJReason, 10) })
					f.drop()
				}
			})(w)
		},
	},
	{
		Name: "cm-lone-rep", Breaks: "A REP that is not answered is not sent again.",
		Cases: []string{"cm/7"},
		hooks: func(*world) hooks {
			n := map[uint64]bool{}
			return madOut(cmsg.REP, func(_ *world, f *frame, m *cmsg.MAD) {
				if n[m.Get(cmsg.LocalID)] {
					f.drop()
				}
				n[m.Get(cmsg.LocalID)] = true
			})(nil)
		},
	},
	{
		Name: "cm-needs-rtu", Breaks: "Data before the RTU is dropped.",
		Cases: []string{"cm/6"},
		hooks: dropIn(func(f *frame) bool {
			return f.flow != nil && f.flow.cm && f.rcRequest() && !f.flow.ready
		}),
	},
	{
		Name: "cm-no-drep", Breaks: "A DREQ is not answered.",
		Cases: []string{"cm/13"},
		hooks: madOut(cmsg.DREP, dropMAD),
	},
	{
		Name: "cm-second-dreq", Breaks: "A second copy of a DREQ is not answered.",
		Cases: []string{"cm/14"},
		hooks: repeated(cmsg.DREQ, dropMAD),
	},
	{
		Name: "cm-lives-after-dreq", Breaks: "After a DREQ, requests are acknowledged.",
		Cases: []string{"cm/36"},
		hooks: func(w *world) hooks {
			over := map[uint64]bool{} // by communication ID of the endpoint
			return hooks{in: func(f *frame) {
				if m, ok := f.mad(); ok && m.Attribute() == cmsg.DREQ && len(over) < maxAsked {
					over[m.Get(cmsg.RemoteID)] = true
				}
				if f.flow != nil && over[f.flow.id] && f.rcRequest() {
					w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, f.flow.msn+1))
				}
			}}
		},
	},
	{
		Name: "cm-unknown-dreq", Breaks: "A DREQ of an unknown connection is not answered.",
		Cases: []string{"cm/15"},
		hooks: func(w *world) hooks {
			known := map[uint64]bool{}
			return hooks{
				out: func(f *frame) {
					if m, ok := f.mad(); ok && m.Attribute() == cmsg.REP && len(known) < maxAsked {
						known[m.Get(cmsg.LocalID)] = true
					}
				},
				in: func(f *frame) {
					if m, ok := f.mad(); ok && m.Attribute() == cmsg.DREQ && !known[m.Get(cmsg.RemoteID)] {
						f.drop()
					}
				},
			}
		},
	},
}

// sendMAD sends a message of the endpoint that answers m, which came in f.
func (w *world) sendMAD(f *frame, m *cmsg.MAD, a cmsg.Attribute, fill func(m *cmsg.MAD)) {
	r := cmsg.New(a, m.Get(cmsg.TID))
	r.Set(cmsg.RemoteID, m.Get(cmsg.LocalID))
	fill(r)
	g := w.reply(f, bth.UDSendOnly, 0)
	g.DestQP, g.DETH = bth.GSI, bth.DETH{QKey: cmsg.QKey, SrcQP: bth.GSI}
	g.setMAD(*r)
	w.toTester(g)
}
