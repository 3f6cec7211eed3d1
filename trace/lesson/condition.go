package lesson

import (
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

// condition reports whether a lesson explains p.
type condition = func(p *trace.Packet) bool

// decoded returns f restricted to packets that could be decoded.
func decoded(f condition) condition {
	return func(p *trace.Packet) bool { return p.Err == nil && f(p) }
}

// op matches packets of the given operations, except on UD.
func op(ops ...bth.Operation) condition {
	return decoded(func(p *trace.Packet) bool {
		i := p.BTH.Opcode.Info()
		return i.Service != bth.ServiceUD && slices.Contains(ops, i.Op)
	})
}

// header matches packets with one of the extension headers in h.
func header(h bth.Headers) condition {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Headers&h != 0 })
}

// service matches packets of s, except CM messages.
func service(s bth.Service) condition {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Service == s && p.MAD == nil })
}

// message matches CM messages with one of the given attributes.
func message(a ...mad.Attribute) condition {
	return decoded(func(p *trace.Packet) bool { return p.MAD != nil && slices.Contains(a, p.MAD.Attribute) })
}

// finding matches packets with a finding of one of the kinds.
func finding(kinds ...trace.Kind) condition {
	return func(p *trace.Packet) bool {
		return slices.ContainsFunc(p.Findings, func(f trace.Finding) bool { return slices.Contains(kinds, f.Kind) })
	}
}

// ack matches acknowledgements whose syndrome satisfies f.
func ack(f func(bth.Syndrome) bool) condition {
	return decoded(func(p *trace.Packet) bool { return p.BTH.Opcode.Info().Op == bth.OpAck && f(p.BTH.AETH.Syndrome) })
}

// part matches packets of messages of several packets.
func part(p *trace.Packet) bool { return p.BTH.Opcode.Info().Pos != bth.Only }

// connected matches packets of connections.
func connected(p *trace.Packet) bool {
	return p.Err == nil && p.MAD == nil && p.BTH.Opcode.Info().Service != bth.ServiceUD
}

// anyPacket matches packets that could be decoded.
func anyPacket(p *trace.Packet) bool { return p.Err == nil }

// first matches the first packet of messages of several packets.
func first(p *trace.Packet) bool { return p.BTH.Opcode.Info().Pos == bth.First }

// completed matches the acknowledgement that completes a message.
func completed(p *trace.Packet) bool {
	return p.Role == trace.Ack && p.Message != nil && p.Message.Done && p.Message.Frames[1] == p.Number
}
