package lesson

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

type shown = func(p *trace.Packet) bool

// decoded limits a condition to packets that could be read.
func decoded(f shown) shown {
	return func(p *trace.Packet) bool { return p.Err == nil && f(p) }
}

// op is shown by packets of these operations on a connection.
func op(ops ...bth.Operation) shown {
	return decoded(func(p *trace.Packet) bool {
		i := p.BTH.Opcode.Info()
		return i.Service != bth.ServiceUD && slices.Contains(ops, i.Op)
	})
}

// header is shown by packets that have one of the extension headers h.
func header(h bth.Headers) shown {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Headers&h != 0 })
}

func service(s bth.Service) shown {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Service == s && p.MAD == nil })
}

// message is shown by messages a of the connection manager.
func message(a ...mad.Attribute) shown {
	return decoded(func(p *trace.Packet) bool { return p.MAD != nil && slices.Contains(a, p.MAD.Attribute) })
}

// finding is shown by packets that have one of these findings.
func finding(kinds ...trace.Kind) shown {
	return func(p *trace.Packet) bool {
		return slices.ContainsFunc(p.Findings, func(f trace.Finding) bool { return slices.Contains(kinds, f.Kind) })
	}
}

// ack is shown by acknowledgements for whose syndrome f is true.
func ack(f func(bth.Syndrome) bool) shown {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Op == bth.OpAck && f(p.BTH.AETH.Syndrome) })
}

func anyPacket(p *trace.Packet) bool { return p.Err == nil }

func first(p *trace.Packet) bool { return p.BTH.Opcode.Info().Pos == bth.First }

func completed(p *trace.Packet) bool {
	return p.Role == trace.Ack && p.Message != nil && p.Message.Done && p.Message.Frames[1] == p.Number
}
