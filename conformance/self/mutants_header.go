package self

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet/encap"
)

// headerMutants break rules of the IP and UDP headers and of the fields of the BTH.
var headerMutants = []Mutant{
	{
		Name: "sends-options", Breaks: "Packets have IPv4 options.",
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				b := append([]byte{}, ip[:20]...)
				b = append(append(b, 1, 1, 1, 1), ip[20:]...)
				b[0]++
				binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
				putIPSum(b)
				return b
			}
		}),
	},
	{
		Name: "may-fragment", Breaks: "Packets have no DF.",
		hooks: out(func(_ *world, f *frame) {
			f.flags = 0
			f.reseal()
		}),
	},
	{
		Name: "wrong-ttl", Breaks: "The TTL is not that of the address vector.",
		hooks: out(func(_ *world, f *frame) { f.ttl -= 7 }),
	},
	{
		Name: "wrong-dscp", Breaks: "The DSCP is not the traffic class.",
		hooks: out(func(_ *world, f *frame) { f.tos ^= 0x48 }),
	},
	{
		Name: "sets-ecn", Breaks: "ECN is 10 without congestion management.",
		hooks: out(func(_ *world, f *frame) { f.tos |= 2 }),
	},
	{
		Name: "ip-padding", Breaks: "The IP packet is longer than its UDP datagram.",
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				ip = append(ip, 0, 0, 0, 0)
				binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
				putIPSum(ip)
				return ip
			}
		}),
	},
	{
		Name: "udp-length", Breaks: "The UDP length does not include the ICRC.",
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				binary.BigEndian.PutUint16(ip[24:], binary.BigEndian.Uint16(ip[24:])-bth.ICRCLen)
				return ip
			}
		}),
	},
	{
		Name: "udp-checksum", Breaks: "The UDP checksum is wrong.",
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				binary.BigEndian.PutUint16(ip[26:], 0x1234)
				return ip
			}
		}),
	},
	{
		Name: "source-address", Breaks: "Packets have another source address than the GID.",
		hooks: out(func(_ *world, f *frame) {
			f.src = testerAddr2
			f.reseal()
		}),
	},
	{
		Name: "many-ports", Breaks: "Each packet has another UDP source port.",
		hooks: func(w *world) hooks {
			return hooks{out: func(f *frame) {
				w.id++
				f.port = 0xc000 | w.id&0xfff
				f.reseal()
			}}
		},
	},
	{
		Name: "takes-options", Breaks: "A packet with IPv4 options is executed.",
		hooks: in(func(_ *world, f *frame) {
			if f.badIP == errOptions {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-bad-length", Breaks: "A packet whose IP and UDP lengths differ is executed.",
		hooks: in(func(_ *world, f *frame) {
			if f.badIP == errLength || f.badIP == encap.ErrTruncated || f.badIP == encap.ErrHeader {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-fragments", Breaks: "A fragment is executed.",
		hooks: in(func(_ *world, f *frame) {
			if f.badIP == encap.ErrFragment {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-bad-checksum", Breaks: "A packet with a wrong UDP checksum is executed.",
		hooks: in(func(_ *world, f *frame) {
			if f.badIP == errSum {
				f.accept()
			}
		}),
	},
	{
		Name: "any-version", Breaks: "A packet with another transport version is executed.",
		hooks: changeIn(func(f *frame) bool { return f.err != nil && len(f.data) > bth.BTHLen }, func(f *frame) {
			f.data[1] &^= 0x0f
			f.reseal()
		}),
	},
	{
		Name: "any-queue-pair", Breaks: "A packet to an unknown queue pair is executed by another one.",
		hooks: in(func(w *world, f *frame) {
			if f.err != nil || f.flow != nil || f.DestQP <= bth.GSI {
				return
			}
			for qpn, flow := range w.flows {
				if f.src == flow.local.Addr {
					f.DestQP = qpn
				}
			}
		}),
	},
	{
		Name: "queue-pair-0", Breaks: "A packet to queue pair 0 is executed by another one.",
		hooks: in(func(w *world, f *frame) {
			for qpn := range w.flows {
				if f.err == nil && f.DestQP == 0 {
					f.DestQP = qpn
				}
			}
		}),
	},
	{
		Name: "any-pkey", Breaks: "A packet with a P_Key that is not in the table is executed.",
		hooks: changeIn(func(f *frame) bool { return f.err == nil && f.PKey&0x7fff != 0x7fff },
			func(f *frame) { f.PKey = 0xffff }),
	},
	{
		Name: "limited-pkey", Breaks: "The P_Key of a limited member is refused by a full member.",
		hooks: dropIn(func(f *frame) bool { return f.err == nil && f.PKey == 0x7fff }),
	},
	{
		Name: "any-source", Breaks: "A packet from another address than the peer's is executed.",
		hooks: changeIn(func(f *frame) bool { return f.flow != nil && f.src != f.flow.local.Addr }, func(f *frame) {
			f.src = f.flow.local.Addr
			f.reseal()
		}),
	},
	{
		Name: "any-service", Breaks: "An opcode of another transport service is executed as that of RC.",
		hooks: in(func(_ *world, f *frame) {
			if f.err == nil && f.flow != nil && f.flow.kind == bth.ServiceRC && f.Opcode&0xe0 != 0 && f.Opcode != bth.CNP {
				f.Opcode = f.Opcode & 0x1f
			}
		}),
	},
	{
		Name: "congestion-drop", Breaks: "A request with FECN or BECN is dropped.",
		hooks: dropIn(func(f *frame) bool { return f.rcRequest() && (f.FECN || f.BECN) }),
	},
	{
		Name: "tos-drop", Breaks: "A packet whose ToS or TTL was changed on the way is dropped.",
		hooks: dropIn(func(f *frame) bool { return f.tos != 0 || f.ttl != 64 }),
	},
	{
		Name: "needs-checksum", Breaks: "A packet with UDP checksum 0 is dropped.",
		hooks: dropIn(func(f *frame) bool { return f.noSum }),
	},
	{
		Name: "reserved-drop", Breaks: "A packet with reserved bits set is dropped.",
		hooks: dropIn(func(f *frame) bool {
			return f.err == nil && len(f.data) > bth.BTHLen && (f.data[4]&0x3f != 0 || f.data[8]&0x7f != 0)
		}),
	},
	{
		Name: "needs-migreq", Breaks: "A packet with MigReq 0 is dropped.",
		hooks: dropIn(func(f *frame) bool { return f.rcRequest() && !f.MigReq }),
	},
}
