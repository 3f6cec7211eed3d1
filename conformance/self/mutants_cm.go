package self

import (
	"time"

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
		Name: "cm-second-req-rejected", Breaks: "A second copy of a REQ is rejected.",
		Cases: []string{"cm/5"},
		hooks: repeated(cmsg.REQ, func(w *world, f *frame, m *cmsg.MAD) {
			w.sendMAD(f, m, cmsg.REJ, func(r *cmsg.MAD) { r.Set(cmsg.REJReason, 4) })
			f.drop()
		}),
	},
	{
		Name: "cm-second-connection", Breaks: "A second copy of a REQ makes a second connection.",
		Cases: []string{"cm/6", "cm/8", "cm/9", "cm/12"},
		hooks: func(*world) hooks {
			n := 0
			return madOut(cmsg.REP, func(_ *world, _ *frame, m *cmsg.MAD) {
				if n++; n > 1 {
					m.Set(cmsg.LocalID, m.Get(cmsg.LocalID)+uint64(n))
					m.Set(cmsg.REPQPN, m.Get(cmsg.REPQPN)+uint64(n))
				}
			})(nil)
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
	{
		Name: "cm-no-rej", Breaks: "A REQ that cannot be accepted is not rejected.",
		Cases: []string{"cm/21", "cm/22", "cm/23"},
		hooks: madOut(cmsg.REJ, dropMAD),
	},
	{
		Name: "cm-rej-reason", Breaks: "Each REJ has the reason 1, no queue pair available.",
		Cases: []string{"cm/21"},
		hooks: madOut(cmsg.REJ, set(cmsg.REJReason, 1)),
	},
	{
		Name: "cm-rej-13", Breaks: "A REQ is rejected with reason 13, primary LID rejected.",
		Cases: []string{"cm/26", "cm/27"},
		hooks: madOut(cmsg.REJ, set(cmsg.REJReason, 13)),
	},
	{
		Name: "cm-transaction", Breaks: "A REP has another transaction ID than the REQ.",
		Cases: []string{"cm/1"},
		hooks: madOut(cmsg.REP, func(_ *world, _ *frame, m *cmsg.MAD) { m.Set(cmsg.TID, m.Get(cmsg.TID)^0xff00) }),
	},
	{
		Name: "cm-drep-transaction", Breaks: "A DREP has another transaction ID than the DREQ.",
		Cases:   []string{"cm/13"},
		Related: []string{"requester"},
		hooks:   madOut(cmsg.DREP, func(_ *world, _ *frame, m *cmsg.MAD) { m.Set(cmsg.TID, m.Get(cmsg.TID)^0xff00) }),
	},
	{
		Name: "cm-vendor", Breaks: "A REP has an ECE VendorID that is neither 0 nor that of the REQ.",
		Cases: []string{"cm/11"},
		hooks: madOut(cmsg.REP, func(_ *world, _ *frame, m *cmsg.MAD) {
			m.Set(cmsg.REPVendorHigh, 0x12)
			m.Set(cmsg.REPVendorLow, 0x34)
		}),
	},
	{
		Name: "cm-vendor-drop", Breaks: "A REQ with a VendorID is dropped.",
		Cases: []string{"cm/11"},
		hooks: madIn(cmsg.REQ, func(_ *world, f *frame, m *cmsg.MAD) {
			if m.Get(cmsg.REQVendor) != 0 {
				f.drop()
			}
		}),
	},
	{
		Name: "cm-any-mad", Breaks: "The class, version and method of a message are not checked.",
		Cases: []string{"cm/28", "cm/29", "cm/30"},
		hooks: changeIn(func(f *frame) bool {
			return f.err == nil && f.DestQP == bth.GSI && len(f.Payload) == cmsg.Len
		}, func(f *frame) {
			m := cmsg.MAD(f.Payload)
			m.Set(cmsg.BaseVersion, 1)
			m.Set(cmsg.Class, 7)
			m.Set(cmsg.ClassVersion, 2)
			m.Set(cmsg.Method, 3)
			f.setMAD(m)
		}),
	},
	{
		Name: "cm-any-length", Breaks: "A message that is too short or too long is accepted.",
		Cases: []string{"cm/32"},
		hooks: changeIn(func(f *frame) bool {
			return f.err == nil && f.DestQP == bth.GSI && len(f.Payload) != cmsg.Len
		}, func(f *frame) { f.Payload, f.Pad = append(f.Payload, make([]byte, cmsg.Len)...)[:cmsg.Len:cmsg.Len], 0 }),
	},
	{
		Name: "cm-dies", Breaks: "After a message that is malformed, queue pair 1 does not answer.",
		Cases: []string{"cm/31", "cm/33"},
		hooks: func(*world) hooks {
			dead := false
			return hooks{in: func(f *frame) {
				if f.DestQP != bth.GSI || f.err != nil {
					return
				}
				m, ok := f.mad()
				dead = dead || !ok || m.Attribute() < cmsg.REQ || m.Attribute() > cmsg.SIDRREP
				if dead {
					f.drop()
				}
			}}
		},
	},
	{
		Name: "cm-rep-twice", Breaks: "Each REP is sent twice at once.",
		Cases: []string{"cm/17", "cm/20"},
		hooks: madOut(cmsg.REP, func(w *world, f *frame, _ *cmsg.MAD) {
			g := f.clone()
			w.after(time.Millisecond, func() { w.toTester(g) })
		}),
	},
	{
		Name: "cm-rep-depth", Breaks: "A REP has an initiator depth beyond the responder resources of the REQ.",
		Cases: []string{"cm/10"},
		hooks: madOut(cmsg.REP, set(cmsg.REPDepth, 200)),
	},
	{
		Name: "cm-rej-alternate", Breaks: "A REQ with an alternate path is rejected with reason 13.",
		Cases: []string{"cm/4"},
		hooks: madIn(cmsg.REQ, func(w *world, f *frame, m *cmsg.MAD) {
			if m.Get(cmsg.REQAltLocalLID) != 0 {
				w.sendMAD(f, m, cmsg.REJ, func(r *cmsg.MAD) { r.Set(cmsg.REJReason, 13) })
				f.drop()
			}
		}),
	},
	{
		Name: "cm-drops-rep", Breaks: "A REP for a request that was not made is dropped.",
		Cases: []string{"cm/19"},
		Shows: "it is dropped", hooks: madIn(cmsg.REP, dropMAD),
	},
	{
		Name: "cm-any-mtu", Breaks: "A REQ with a path MTU that does not exist is accepted.",
		Cases: []string{"cm/24"},
		Shows: "path MTU 0 is accepted",
		hooks: madIn(cmsg.REQ, func(_ *world, _ *frame, m *cmsg.MAD) {
			if m.Get(cmsg.REQMTU) == 0 {
				m.Set(cmsg.REQMTU, 3)
			}
		}),
	},
	{
		Name: "cm-any-service", Breaks: "A REQ for the transport service RD is accepted.",
		Cases: []string{"cm/25"},
		Shows: "a REQ for RD is accepted",
		hooks: madIn(cmsg.REQ, set(cmsg.REQTransport, 0)),
	},
	{
		Name: "cm-lap", Breaks: "A LAP is answered with a REJ.",
		Cases: []string{"cm/35"},
		Shows: "it is answered with REJ",
		hooks: madIn(cmsg.LAP, func(w *world, f *frame, m *cmsg.MAD) {
			w.sendMAD(f, m, cmsg.REJ, func(r *cmsg.MAD) { r.Set(cmsg.REJReason, 6) })
		}),
	},
	{
		Name: "cm-no-sidr", Breaks: "A SIDR_REQ is not answered.",
		Cases: []string{"cm/34"},
		hooks: madOut(cmsg.SIDRREP, dropMAD),
	},
	{
		Name: "cm-sidr-status", Breaks: "A SIDR_REQ for a service without a listener gets the status 0, valid.",
		Cases: []string{"cm/34"},
		hooks: madOut(cmsg.SIDRREP, set(cmsg.SIDRStatus, 0)),
	},
	{
		Name: "cm-qpn", Breaks: "A REP has the number of another queue pair.",
		Cases:   []string{"cm/16", "cm/18"},
		Related: []string{"requester"},
		hooks: madOut(cmsg.REP, func(_ *world, _ *frame, m *cmsg.MAD) {
			m.Set(cmsg.REPQPN, m.Get(cmsg.REPQPN)^0x10)
		}),
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
