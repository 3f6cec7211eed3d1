package filter

import (
	"math/bits"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

func isVersion(v uint8) func(*trace.Packet) bool {
	return func(p *trace.Packet) bool { return p.IP.Version == v && isRoCEv2(p) }
}

func inIP(version uint8, get func(*trace.Packet) uint64) func(*trace.Packet) numbers {
	return func(p *trace.Packet) numbers {
		return onlyIf(version == 0 || p.IP.Version == version && isRoCEv2(p), get(p))
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func withHeader(h bth.Headers) func(*trace.Packet) bool {
	return func(p *trace.Packet) bool { return has(p, h) }
}

// memory returns a getter for a field that is in the RETH or in the AtomicETH.
func memory(reth, atomic func(*bth.Packet) uint64) func(*trace.Packet) numbers {
	return func(p *trace.Packet) numbers {
		switch {
		case has(p, bth.HasRETH):
			return one(reth(&p.BTH))
		case has(p, bth.HasAtomicETH):
			return one(atomic(&p.BTH))
		}
		return numbers{}
	}
}

// number returns a numeric field of Wireshark.
func number(name string, bits int, get func(*trace.Packet) numbers) field {
	return field{names: []string{name}, example: "1", bits: bits, numbers: get}
}

// wireshark are fields with the names and values of Wireshark's display filters.
var wireshark = []field{
	{names: []string{"ip.addr"}, example: "198.18.0.2", addrs: addrOf(4, true, true)},
	{names: []string{"ip.src"}, example: "198.18.0.2", addrs: addrOf(4, true, false)},
	{names: []string{"ip.dst"}, example: "198.18.0.2", addrs: addrOf(4, false, true)},
	{names: []string{"ipv6.addr"}, example: "fd00::1", addrs: addrOf(6, true, true)},
	{names: []string{"ipv6.src"}, example: "fd00::1", addrs: addrOf(6, true, false)},
	{names: []string{"ipv6.dst"}, example: "fd00::1", addrs: addrOf(6, false, true)},
	{names: []string{"ip"}, is: isVersion(4)},
	{names: []string{"ipv6"}, is: isVersion(6)},
	{names: []string{"udp"}, is: isRoCEv2},
	{names: []string{"infiniband"}, is: func(p *trace.Packet) bool { return !p.Doubtful }},
	{names: []string{"infiniband.bth"}, is: func(p *trace.Packet) bool { return len(p.Bytes) >= bth.BTHLen }},
	{names: []string{"infiniband.deth"}, is: withHeader(bth.HasDETH)},
	{names: []string{"infiniband.reth"}, is: withHeader(bth.HasRETH)},
	{names: []string{"infiniband.aeth"}, is: withHeader(bth.HasAETH)},
	{names: []string{"infiniband.atomiceth"}, is: withHeader(bth.HasAtomicETH)},
	{names: []string{"infiniband.atomicacketh"}, is: withHeader(bth.HasAtomicAckETH)},
	{names: []string{"infiniband.ieth"}, is: withHeader(bth.HasIETH)},
	{names: []string{"infiniband.mad"}, is: func(p *trace.Packet) bool { return p.MAD != nil }},

	number("udp.srcport", 16, inUDP(func(p *trace.Packet) numbers { return one(uint64(p.Src.Port())) })),
	number("udp.dstport", 16, inUDP(func(p *trace.Packet) numbers { return one(uint64(p.Dst.Port())) })),
	number("udp.port", 16, inUDP(func(p *trace.Packet) numbers {
		return numbers{[4]uint64{uint64(p.Src.Port()), uint64(p.Dst.Port())}, 2}
	})),
	number("ip.version", 4, inIP(0, func(p *trace.Packet) uint64 { return uint64(p.IP.Version) })), // IPv6 has it, too
	number("ip.id", 16, inIP(4, func(p *trace.Packet) uint64 { return uint64(p.IP.ID) })),
	number("ip.ttl", 8, inIP(4, func(p *trace.Packet) uint64 { return uint64(p.IP.HopLimit) })),
	number("ip.dsfield", 8, inIP(4, func(p *trace.Packet) uint64 { return uint64(p.IP.TrafficClass) })),
	number("ip.dsfield.dscp", 6, inIP(4, func(p *trace.Packet) uint64 { return uint64(p.IP.TrafficClass >> 2) })),
	number("ip.dsfield.ecn", 2, inIP(4, func(p *trace.Packet) uint64 { return uint64(p.IP.TrafficClass & 3) })),
	number("ipv6.hlim", 8, inIP(6, func(p *trace.Packet) uint64 { return uint64(p.IP.HopLimit) })),
	number("ipv6.tclass", 8, inIP(6, func(p *trace.Packet) uint64 { return uint64(p.IP.TrafficClass) })),
	number("ipv6.tclass.dscp", 6, inIP(6, func(p *trace.Packet) uint64 { return uint64(p.IP.TrafficClass >> 2) })),
	number("ipv6.tclass.ecn", 2, inIP(6, func(p *trace.Packet) uint64 { return uint64(p.IP.TrafficClass & 3) })),

	number("infiniband.bth.se", 1, inBTH(func(b *bth.Packet) uint64 { return flag(b.Solicited) })),
	number("infiniband.bth.m", 1, inBTH(func(b *bth.Packet) uint64 { return flag(b.MigReq) })),
	number("infiniband.bth.padcnt", 2, inBTH(func(b *bth.Packet) uint64 { return uint64(b.Pad) })),
	number("infiniband.bth.tver", 4, inBTH(func(b *bth.Packet) uint64 { return uint64(b.Version) })),
	number("infiniband.bth.p_key", 16, inBTH(func(b *bth.Packet) uint64 { return uint64(b.PKey) })),
	number("infiniband.bth.destqp", 24, inBTH(func(b *bth.Packet) uint64 { return uint64(b.DestQP) })),
	number("infiniband.bth.a", 1, inBTH(func(b *bth.Packet) uint64 { return flag(b.AckReq) })),
	number("infiniband.deth.q_key", 64,
		inHeader(bth.HasDETH, func(b *bth.Packet) uint64 { return uint64(b.DETH.QKey) })),
	number("infiniband.deth.srcqp", 32,
		inHeader(bth.HasDETH, func(b *bth.Packet) uint64 { return uint64(b.DETH.SrcQP) })),
	number("infiniband.reth.va", 64, memory(func(b *bth.Packet) uint64 { return b.RETH.VA },
		func(b *bth.Packet) uint64 { return b.AtomicETH.VA })),
	number("infiniband.reth.r_key", 32, memory(
		func(b *bth.Packet) uint64 { return uint64(b.RETH.RKey) },
		func(b *bth.Packet) uint64 { return uint64(b.AtomicETH.RKey) })),
	number("infiniband.reth.dmalen", 32,
		inHeader(bth.HasRETH, func(b *bth.Packet) uint64 { return uint64(b.RETH.DMALen) })),
	number("infiniband.atomiceth.swapdt", 64,
		inHeader(bth.HasAtomicETH, func(b *bth.Packet) uint64 { return b.AtomicETH.SwapAdd })),
	number("infiniband.atomiceth.cmpdt", 64,
		inHeader(bth.HasAtomicETH, func(b *bth.Packet) uint64 { return b.AtomicETH.Compare })),
	number("infiniband.atomicacketh.origremdt", 64,
		inHeader(bth.HasAtomicAckETH, func(b *bth.Packet) uint64 { return b.AtomicAck })),
	number("infiniband.aeth.syndrome", 8,
		inHeader(bth.HasAETH, func(b *bth.Packet) uint64 { return uint64(b.AETH.Syndrome) })),
	number("infiniband.aeth.syndrome.opcode", 2,
		inHeader(bth.HasAETH, func(b *bth.Packet) uint64 { return uint64(b.AETH.Syndrome >> 5 & 3) })),
	number("infiniband.aeth.msn", 24, inHeader(bth.HasAETH, func(b *bth.Packet) uint64 { return uint64(b.AETH.MSN) })),
	// Wireshark shows the bytes of the ICRC as a big-endian number.
	number("infiniband.invariant.crc", 32, func(p *trace.Packet) numbers {
		return onlyIf(len(p.Bytes) >= p.Len && p.ICRC != trace.ICRC{}, uint64(bits.ReverseBytes32(p.ICRC.Wire)))
	}),
	{names: []string{"infiniband.mad.attributeid"}, example: "REQ", bits: 16, called: named(attributeNames),
		numbers: inMAD(0, func(m *mad.Message) uint64 { return uint64(m.Attribute) })},
	number("infiniband.mad.transactionid", 64, inMAD(0, func(m *mad.Message) uint64 { return m.TransactionID })),
	number("infiniband.cm.req.localqpn", 24,
		inMAD(mad.AttrREQ, func(m *mad.Message) uint64 { return uint64(m.REQ.LocalQPN) })),
	number("infiniband.cm.req.serviceid", 64,
		inMAD(mad.AttrREQ, func(m *mad.Message) uint64 { return uint64(m.REQ.ServiceID) })),
	number("infiniband.cm.req.startpsn", 24,
		inMAD(mad.AttrREQ, func(m *mad.Message) uint64 { return uint64(m.REQ.StartingPSN) })),
	number("infiniband.cm.rep.localqpn", 24,
		inMAD(mad.AttrREP, func(m *mad.Message) uint64 { return uint64(m.REP.LocalQPN) })),
	number("infiniband.cm.rej.reason", 16,
		inMAD(mad.AttrREJ, func(m *mad.Message) uint64 { return uint64(m.REJ.Reason) })),
}
