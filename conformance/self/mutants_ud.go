package self

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/verbs"
)

// incomingUD makes hooks that see datagrams to UD queue pairs of the endpoint, also those that
// cannot be decoded.
func incomingUD(f func(w *world, f *frame)) func(*world) hooks {
	return in(func(w *world, x *frame) {
		if x.flow != nil && x.flow.kind == bth.ServiceUD {
			f(w, x)
		}
	})
}

// udMutants break rules of unreliable datagrams.
var udMutants = []Mutant{
	{
		Name: "ud-no-grh", Breaks: "The data of a datagram is stored at the begin of the receive, without 40 bytes before it.",
		Cases: []string{"ud/1"},
		hooks: tune(func(s *settings) {
			if s.kind == verbs.UD {
				s.headLen = 0
			}
		}),
	},
	{
		Name: "ud-any-qkey", Breaks: "A datagram with a wrong Q_Key is received.",
		Cases: []string{"ud/2"},
		hooks: incomingUD(func(_ *world, f *frame) {
			if f.request(bth.ServiceUD) {
				f.DETH.QKey = f.flow.target.QKey
			}
		}),
	},
	{
		Name: "ud-naks-qkey", Breaks: "A datagram with a wrong Q_Key gets a NAK.",
		Cases: []string{"ud/2"},
		hooks: incomingUD(func(w *world, f *frame) {
			if f.request(bth.ServiceUD) && f.DETH.QKey != f.flow.target.QKey {
				w.toTester(w.ackFor(f, f.PSN, bth.NakInvalidRequest, 1))
			}
		}),
	},
	{
		Name: "ud-any-length", Breaks: "A datagram longer than the path MTU or the receive is cut and received.",
		Cases: []string{"ud/7"},
		hooks: incomingUD(func(_ *world, f *frame) {
			if n := f.flow.target.ReceiveLen; f.request(bth.ServiceUD) && len(f.Payload) > n {
				f.Payload, f.Pad = f.Payload[:n], bth.PadFor(n)
			}
		}),
	},
	{
		Name: "ud-any-service", Breaks: "An RC or UC request to a UD queue pair is received.",
		Cases: []string{"ud/5"},
		hooks: incomingUD(func(_ *world, f *frame) {
			if f.err == nil && !f.request(bth.ServiceUD) {
				f.Opcode, f.DETH = bth.UDSendOnly, bth.DETH{QKey: f.flow.target.QKey, SrcQP: f.flow.local.QPN}
			}
		}),
	},
	{
		Name: "ud-any-header", Breaks: "The P_Key, version and ICRC of datagrams are not checked.",
		Cases: []string{"ud/6"},
		hooks: in(func(w *world, f *frame) {
			switch {
			case f.badIP != nil:
			case w.badVersion(f, bth.ServiceUD):
				f.data[1] &^= 0x0f
				f.reseal()
			case f.flow != nil && f.flow.kind == bth.ServiceUD:
				f.PKey, f.badICRC = 0xffff, false
			}
		}),
	},
	{
		Name: "ud-takes-cut", Breaks: "A datagram that is cut inside the DETH is received.",
		Cases: []string{"ud/8"},
		hooks: in(func(w *world, f *frame) {
			if f.err == nil || f.badIP != nil || len(f.data) < bth.BTHLen ||
				len(f.data) >= bth.BTHLen+bth.DETHLen+bth.ICRCLen || bth.Opcode(f.data[0]) != bth.UDSendOnly {
				return
			}
			for qpn, flow := range w.flows {
				if flow.kind == bth.ServiceUD {
					g := *f
					g.err, g.canonical = nil, nil
					g.Packet = bth.Packet{Opcode: bth.UDSendOnly, PKey: 0xffff, MigReq: true, DestQP: qpn,
						DETH: bth.DETH{QKey: flow.target.QKey, SrcQP: flow.local.QPN}}
					w.toDevice(&g)
				}
			}
		}),
	},
	{
		Name: "ud-checks-source", Breaks: "A datagram with source queue pair 0 is dropped.",
		Cases: []string{"ud/11"},
		Shows: "source queue pair 0x0 is dropped",
		hooks: incomingUD(func(_ *world, f *frame) {
			if f.request(bth.ServiceUD) && f.DETH.SrcQP == 0 {
				f.drop()
			}
		}),
	},
	{
		Name: "ud-multicast", Breaks: "A datagram to queue pair 0xffffff at a unicast address is received.",
		Cases: []string{"ud/14"},
		Shows: "a queue pair receives it",
		hooks: in(func(w *world, f *frame) {
			for qpn, flow := range w.flows {
				if f.err == nil && f.DestQP == bth.MulticastQPN && flow.kind == bth.ServiceUD {
					f.DestQP = qpn
				}
			}
		}),
	},
	{
		Name: "ud-gsi-kills", Breaks: "After a datagram to queue pair 1 that is no message, programs receive nothing.",
		Cases: []string{"ud/10"},
		hooks: func(*world) hooks {
			dead := false
			return hooks{in: func(f *frame) {
				if _, ok := f.mad(); !ok && f.err == nil && f.DestQP == bth.GSI {
					dead = true
				}
				if dead && f.flow != nil {
					f.drop()
				}
			}}
		},
	},
	{
		Name: "ud-checks-psn", Breaks: "A datagram whose PSN does not follow is dropped.",
		Cases: []string{"ud/4"},
		hooks: func(*world) hooks {
			next := map[*flow]bth.PSN{}
			return hooks{in: func(f *frame) {
				if f.flow == nil || !f.request(bth.ServiceUD) {
					return
				}
				if psn, ok := next[f.flow]; ok && psn != f.PSN {
					f.drop()
					return
				}
				next[f.flow] = f.PSN.Add(1)
			}}
		},
	},
	{
		Name: "ud-one-source", Breaks: "A datagram from another queue pair or address than the first is dropped.",
		Cases: []string{"ud/12"},
		hooks: func(*world) hooks {
			first := map[*flow]bth.QPN{}
			return hooks{in: func(f *frame) {
				if f.flow == nil || !f.request(bth.ServiceUD) {
					return
				}
				if _, ok := first[f.flow]; !ok {
					first[f.flow] = f.DETH.SrcQP
				}
				if f.DETH.SrcQP != first[f.flow] || f.src != f.flow.local.Addr {
					f.drop()
				}
			}}
		},
	},
	{
		Name: "ud-no-immediate", Breaks: "A datagram with immediate data is dropped.",
		Cases: []string{"ud/3"},
		hooks: incomingUD(func(_ *world, f *frame) {
			if f.Opcode == bth.UDSendOnlyImm {
				f.drop()
			}
		}),
	},
	{
		Name: "ud-acks", Breaks: "A datagram is acknowledged.",
		Cases: []string{"ud/4"},
		hooks: incomingUD(func(w *world, f *frame) {
			if f.request(bth.ServiceUD) {
				w.toTester(w.ackFor(f, f.PSN, bth.AckUnlimited, 1))
			}
		}),
	},
	{
		Name: "ud-empty", Breaks: "An empty datagram is dropped.",
		Cases: []string{"ud/13"},
		hooks: incomingUD(func(_ *world, f *frame) {
			if f.request(bth.ServiceUD) && len(f.Payload) == 0 {
				f.drop()
			}
		}),
	},
	{
		Name: "ud-qkey-out", Breaks: "Datagrams have a wrong Q_Key.",
		Cases: []string{"ud/9"},
		hooks: changeOut(func(f *frame) bool { return f.flow != nil && f.request(bth.ServiceUD) },
			func(f *frame) { f.DETH.QKey ^= 1 }),
	},
	{
		Name: "ud-source-out", Breaks: "Datagrams have source queue pair 0.",
		Cases: []string{"ud/9"},
		hooks: changeOut(func(f *frame) bool { return f.flow != nil && f.request(bth.ServiceUD) },
			func(f *frame) { f.DETH.SrcQP = 0 }),
	},
}

// badVersion reports whether f is to a queue pair of the service and has a transport version other
// than 0, so that it was not decoded.
func (w *world) badVersion(f *frame, s bth.Service) bool {
	if f.err == nil || len(f.data) <= bth.BTHLen || f.data[1]&0x0f == 0 {
		return false
	}
	flow := w.flows[bth.QPN(f.data[5])<<16|bth.QPN(f.data[6])<<8|bth.QPN(f.data[7])]
	return flow != nil && flow.kind == s
}
