package lesson

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

type shown = func(p *trace.Packet) bool

// decoded returns f restricted to packets that could be decoded.
func decoded(f shown) shown {
	return func(p *trace.Packet) bool { return p.Err == nil && f(p) }
}

// op matches packets of the given operations, except on UD.
func op(ops ...bth.Operation) shown {
	return decoded(func(p *trace.Packet) bool {
		i := p.BTH.Opcode.Info()
		return i.Service != bth.ServiceUD && slices.Contains(ops, i.Op)
	})
}

// header matches packets with one of the extension headers in h.
func header(h bth.Headers) shown {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Headers&h != 0 })
}

func service(s bth.Service) shown {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Service == s && p.MAD == nil })
}

// message matches CM messages with one of the given attributes.
func message(a ...mad.Attribute) shown {
	return decoded(func(p *trace.Packet) bool { return p.MAD != nil && slices.Contains(a, p.MAD.Attribute) })
}

// finding matches packets with a finding of one of the kinds.
func finding(kinds ...trace.Kind) shown {
	return func(p *trace.Packet) bool {
		return slices.ContainsFunc(p.Findings, func(f trace.Finding) bool { return slices.Contains(kinds, f.Kind) })
	}
}

// ack matches acknowledgements whose syndrome satisfies f.
func ack(f func(bth.Syndrome) bool) shown {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Op == bth.OpAck && f(p.BTH.AETH.Syndrome) })
}

func anyPacket(p *trace.Packet) bool { return p.Err == nil }

func first(p *trace.Packet) bool { return p.BTH.Opcode.Info().Pos == bth.First }

func completed(p *trace.Packet) bool {
	return p.Role == trace.Ack && p.Message != nil && p.Message.Done && p.Message.Frames[1] == p.Number
}
