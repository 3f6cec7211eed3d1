package filter

import (
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/ulp"
)

// role returns a matcher for the role r. Packets without a role match if opcode accepts their
// opcode.
func role(r trace.Role, opcode func(*bth.OpcodeInfo) bool) func(*trace.Packet) bool {
	return func(p *trace.Packet) bool {
		return p.Role == r || p.Role == trace.NoRole && opcode(p.BTH.Opcode.Info())
	}
}

// own are gorxe's own fields.
var own = []field{
	{names: []string{"qp", "qpn"}, what: "queue pair of either end", example: "0x11", bits: 24, numbers: queuePairs},
	{names: []string{"addr"}, what: "address of either end", example: "198.18.0.2", addrs: addrOf(0, true, true)},
	{names: []string{"src"}, what: "address of the sender", example: "198.18.0.2", addrs: addrOf(0, true, false)},
	{names: []string{"dst"}, what: "address of the receiver", example: "fd00::/8", addrs: addrOf(0, false, true)},
	{names: []string{"opcode", "infiniband.bth.opcode"}, what: "opcode of the packet in its BTH, by number or name", example: "RC_ACKNOWLEDGE", bits: 8,
		called:  named(opcodeNames),
		numbers: inBTH(func(b *bth.Packet) uint64 { return uint64(b.Opcode) })},
	{names: []string{"op"}, what: "operation of the packet: send, write, read, read_response, ack, ...", example: "write", bits: 8,
		called:  named(operationNames),
		numbers: inBTH(func(b *bth.Packet) uint64 { return uint64(b.Opcode.Info().Op) })},
	{names: []string{"service"}, what: "rc, uc, ud or cnp", example: "rc", bits: 8, called: named(serviceNames),
		numbers: inBTH(func(b *bth.Packet) uint64 { return uint64(b.Opcode.Info().Service) })},
	{names: []string{"psn", "infiniband.bth.psn"}, what: "packet sequence number; ranges may wrap: 16777200..15", example: "100..200", bits: 24,
		around:  true,
		numbers: inBTH(func(b *bth.Packet) uint64 { return uint64(b.PSN) })},
	{names: []string{"frame", "frame.number"}, what: "number of the frame; N.1, N.2, … if GSO merged several packets in it", example: "12..20", bits: 64,
		numbers: func(p *trace.Packet) numbers { return one(uint64(p.Number)) }},
	{names: []string{"len"}, what: "bytes from BTH to ICRC", example: "1040", bits: 64,
		numbers: func(p *trace.Packet) numbers { return one(uint64(p.Len)) }},
	{names: []string{"imm"}, what: "immediate data", example: "0x1234", bits: 32,
		numbers: inHeader(bth.HasImmDt, func(b *bth.Packet) uint64 { return uint64(b.Imm) })},
	{names: []string{"flow"}, what: "number of the connection", example: "1", bits: 64,
		numbers: func(p *trace.Packet) numbers {
			if p.Flow == nil {
				return numbers{}
			}
			return one(uint64(p.Flow.Number))
		}},
	{names: []string{"message"}, what: "number of the message in its flow", example: "3", bits: 64,
		numbers: func(p *trace.Packet) numbers {
			if p.Message == nil {
				return numbers{}
			}
			return one(uint64(p.Message.Number))
		}},
	{names: []string{"verb"}, what: "verb of the message that the packet belongs to or acknowledges", example: "WRITE",
		known: trace.Verbs(),
		texts: func(p *trace.Packet, want string) (is, some bool) {
			if p.Message == nil {
				return false, false
			}
			return strings.EqualFold(p.Message.Verb, want), true
		}},
	{names: []string{"ulp"}, what: "upper-layer protocol of the connection: " + strings.Join(ulp.Names(), ", "),
		example: "nvme-of", known: ulp.Names(),
		texts: func(p *trace.Packet, want string) (is, some bool) {
			if p.Flow == nil || p.Flow.ULP == ulp.None {
				return false, false
			}
			return strings.EqualFold(p.Flow.ULP.Name(), want), true
		}},
	{names: []string{"finding"}, what: "packets with this finding", example: "again_after_timeout",
		known: findingNames(), texts: finding},

	{names: []string{"tunnel"}, what: "encapsulation: VXLAN, Geneve, GRE, ERSPAN II, MPLS, ...", example: "VXLAN",
		known: tunnelNames(), texts: inTunnel},
	{names: []string{"vni"}, what: "virtual network of a tunnel: VNI of VXLAN or Geneve, VSID of NVGRE", example: "100",
		bits: 24, numbers: vnis},
	{names: []string{"fabric"}, what: "network: RoCEv2, RoCEv1 or InfiniBand", example: "RoCEv1",
		known: []string{"RoCEv2", "RoCEv1", "InfiniBand"},
		texts: func(p *trace.Packet, want string) (is, some bool) { return p.Fabric.String() == want, true }},
	{names: []string{"lid"}, what: "LID of either end (InfiniBand)", example: "5", bits: 16, numbers: lids},

	{names: []string{"error"}, what: "wrong ICRCs, broken packets, NAKs, rejections and findings that are errors; also RNR NAKs, although they are shown as warnings",
		is: isError},
	{names: []string{"warning"}, what: "errors and warnings", is: func(p *trace.Packet) bool {
		return isError(p) || level(p) >= int(trace.Warning)
	}},
	{names: []string{"nak"}, what: "NAKs and RNR NAKs", is: isNAK},
	{names: []string{"again"}, what: "retransmitted packets", is: func(p *trace.Packet) bool { return p.Again }},
	{names: []string{"ackreq"}, what: "packets that ask for an acknowledgement",
		is: func(p *trace.Packet) bool { return p.BTH.AckReq }},
	{names: []string{"request"}, what: "requests on a reliable connection",
		is: role(trace.Request, func(i *bth.OpcodeInfo) bool { return i.Service == bth.ServiceRC && i.Request() })},
	{names: []string{"response"}, what: "responses to a READ or an atomic",
		is: role(trace.Response, func(i *bth.OpcodeInfo) bool {
			return i.Op == bth.OpReadResponse || i.Op == bth.OpAtomicAck
		})},
	{names: []string{"ack"}, what: "acknowledgements and NAKs",
		is: role(trace.Ack, func(i *bth.OpcodeInfo) bool { return i.Op == bth.OpAck })},
	{names: []string{"unreliable", "datagram"}, what: "packets of an unreliable service (UC or UD)",
		is: role(trace.Datagram, func(i *bth.OpcodeInfo) bool {
			return i.Service == bth.ServiceUC || i.Service == bth.ServiceUD
		})},
	{names: []string{"cm"}, what: "messages of the connection manager",
		is: func(p *trace.Packet) bool { return p.MAD != nil }},
	{names: []string{"cnp"}, what: "congestion notifications",
		is: func(p *trace.Packet) bool { return p.BTH.Opcode == bth.CNP }},
	{names: []string{"inbound"}, what: "packets received by the capturing host",
		is: func(p *trace.Packet) bool { return p.Direction == capture.Inbound }},
	{names: []string{"outbound"}, what: "packets sent by the capturing host",
		is: func(p *trace.Packet) bool { return p.Direction == capture.Outbound }},
}
