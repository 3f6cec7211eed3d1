package self

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/cmsg"
)

// refuseMutants break rules for requests that the communication manager must not accept, and for
// malformed messages.
var refuseMutants = []Mutant{
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
		Name: "cm-rej-message", Breaks: "A REJ of a REQ says that a REP is rejected.",
		Cases: []string{"cm/37"},
		hooks: madOut(cmsg.REJ, set(cmsg.REJMessage, 1)),
	},
	{
		Name: "cm-rej-13", Breaks: "A REQ is rejected with reason 13, primary LID rejected.",
		Cases: []string{"cm/21"},
		hooks: madOut(cmsg.REJ, set(cmsg.REJReason, 13)),
	},
	{
		Name: "cm-any-ip-header", Breaks: "The versions in the header of rdma_cm are not checked.",
		Cases: []string{"cm/26", "cm/27"},
		hooks: madIn(cmsg.REQ, func(_ *world, _ *frame, m *cmsg.MAD) {
			m[cmsg.REQPrivate], m[cmsg.REQPrivate+1] = 0, 0x40
		}),
	},
	{
		Name: "cm-transaction", Breaks: "A REP has another transaction ID than the REQ.",
		Cases: []string{"cm/1"},
		hooks: madOut(cmsg.REP, func(_ *world, _ *frame, m *cmsg.MAD) { m.Set(cmsg.TID, m.Get(cmsg.TID)^0xff00) }),
	},
	{
		Name: "cm-drep-transaction", Breaks: "A DREP has another transaction ID than the DREQ.",
		Cases: []string{"cm/13"},
		hooks: madOut(cmsg.DREP, func(_ *world, _ *frame, m *cmsg.MAD) { m.Set(cmsg.TID, m.Get(cmsg.TID)^0xff00) }),
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
		Name: "cm-rep-depth", Breaks: "A REP has an initiator depth beyond the responder resources of the REQ.",
		Cases: []string{"cm/10"},
		hooks: madOut(cmsg.REP, set(cmsg.REPDepth, 200)),
	},
	{
		Name: "cm-ignores-rej", Breaks: "A REJ for a REP is dropped.",
		Cases: []string{"cm/17"},
		hooks: madIn(cmsg.REJ, dropMAD),
	},
	{
		Name: "cm-any-queue-pair", Breaks: "A second connection of a queue pair is accepted.",
		Cases: []string{"cm/20"},
		hooks: func(w *world) hooks {
			owner := map[uint64]uint64{} // communication ID by queue pair
			return madIn(cmsg.REQ, func(_ *world, _ *frame, m *cmsg.MAD) {
				qpn, id := m.Get(cmsg.REQQPN), m.Get(cmsg.LocalID)
				if first, ok := owner[qpn]; ok && first != id {
					m.Set(cmsg.REQQPN, qpn^0x400000)
				} else if len(owner) < maxAsked {
					owner[qpn] = id
				}
			})(w)
		},
	},
	{
		Name: "cm-any-dreq", Breaks: "A DREQ ends a connection whatever queue pair it names.",
		Cases: []string{"cm/16"},
		hooks: madIn(cmsg.DREQ, func(w *world, _ *frame, m *cmsg.MAD) {
			for qpn, flow := range w.flows {
				if flow.cm && flow.id == m.Get(cmsg.RemoteID) {
					m.Set(cmsg.DREQQPN, uint64(qpn))
				}
			}
		}),
	},
	{
		Name: "cm-answers-unknown", Breaks: "An RTU, DREP, MRA or REJ for no connection is answered with a REJ.",
		Cases: []string{"cm/18"},
		hooks: in(func(w *world, f *frame) {
			m, ok := f.mad()
			if !ok {
				return
			}
			switch m.Attribute() {
			case cmsg.RTU, cmsg.DREP, cmsg.MRA, cmsg.REJ:
			default:
				return
			}
			for _, flow := range w.flows {
				if flow.id == m.Get(cmsg.RemoteID) {
					return
				}
			}
			w.sendMAD(f, &m, cmsg.REJ, func(r *cmsg.MAD) { r.Set(cmsg.REJReason, 4) })
		}),
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
		Cases:   []string{"cm/1"},
		Related: []string{"requester"},
		hooks: madOut(cmsg.REP, func(_ *world, _ *frame, m *cmsg.MAD) {
			m.Set(cmsg.REPQPN, m.Get(cmsg.REPQPN)^0x10)
		}),
	},
}
