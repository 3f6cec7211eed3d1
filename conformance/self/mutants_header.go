package self

import (
	"encoding/binary"
	"errors"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
)

// headerMutants break rules of the IP and UDP headers and of the fields of the BTH.
var headerMutants = []Mutant{
	{
		Name: "sends-options", Breaks: "Packets have IPv4 options.",
		Cases:   []string{"header/1"},
		Related: []string{"atomic", "cm", "icrc", "psn", "requester", "responder", "rnr", "uc", "ud"},
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
		Cases: []string{"header/2"},
		hooks: out(func(_ *world, f *frame) {
			f.flags = 0
			f.reseal()
		}),
	},
	{
		Name: "wrong-ttl", Breaks: "The TTL is not that of the address vector.",
		Cases: []string{"header/3"},
		Shows: "arrives as 248",
		hooks: out(func(_ *world, f *frame) { f.ttl -= 7 }),
	},
	{
		Name: "wrong-dscp", Breaks: "The DSCP is not the traffic class.",
		Cases: []string{"header/4"},
		hooks: out(func(_ *world, f *frame) { f.tos ^= 0x48 }),
	},
	{
		Name: "sends-ce", Breaks: "ECN is 11, congestion experienced.",
		Cases: []string{"header/5"},
		hooks: out(func(_ *world, f *frame) { f.tos |= 3 }),
	},
	{
		Name: "ip-padding", Breaks: "The IP packet is longer than its UDP datagram.",
		Cases:   []string{"atomic/14"},
		Related: []string{"cm", "header", "icrc", "psn", "requester", "responder", "rnr", "uc", "ud"},
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
		Cases:   []string{"header/6", "header/11"},
		Related: []string{"atomic", "cm", "congestion", "icrc", "psn", "requester", "responder", "rnr", "uc", "ud"},
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				binary.BigEndian.PutUint16(ip[24:], binary.BigEndian.Uint16(ip[24:])-bth.ICRCLen)
				return ip
			}
		}),
	},
	{
		Name: "udp-checksum", Breaks: "The UDP checksum is wrong.",
		Cases: []string{"header/10"},
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				binary.BigEndian.PutUint16(ip[26:], 0x1234)
				return ip
			}
		}),
	},
	{
		Name: "source-address", Breaks: "Packets have another source address than the GID.",
		Cases:   []string{"header/7"},
		Related: []string{"cm", "requester"},
		hooks: out(func(_ *world, f *frame) {
			f.src = testerAddr2
			f.reseal()
		}),
	},
	{
		Name: "many-ports", Breaks: "Each packet has another UDP source port.",
		Cases: []string{"header/9"},
		hooks: func(w *world) hooks {
			return hooks{out: func(f *frame) {
				w.id++
				f.port = 0xc000 | w.id&0xfff
				f.reseal()
			}}
		},
	},
	{
		Name: "drops-dscp", Breaks: "A packet with a DSCP that is not 0 is dropped.",
		Cases: []string{"responder/12"}, Related: []string{"header"},
		hooks: dropIn(func(f *frame) bool { return f.tos>>2 != 0 }),
	},
	{
		Name: "takes-options", Breaks: "A packet with IPv4 options is executed.",
		Cases: []string{"header/28"},
		hooks: in(func(_ *world, f *frame) {
			if f.badIP == errOptions {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-bad-length", Breaks: "A packet whose IP and UDP lengths differ is executed.",
		Cases: []string{"header/24", "header/25", "header/26", "header/27"},
		hooks: in(func(_ *world, f *frame) {
			if f.badIP == errLength || f.badIP == encap.ErrTruncated || f.badIP == encap.ErrHeader {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-fragments", Breaks: "A request in two fragments is executed.",
		Cases: []string{"header/33"},
		Shows: "executed",
		hooks: func(w *world) hooks {
			var first []byte
			return hooks{in: func(f *frame) {
				switch {
				case !errors.Is(f.badIP, encap.ErrFragment):
				case f.raw[6]&0x1f|f.raw[7] == 0:
					first = f.raw
				case first != nil:
					ip := append(append([]byte{}, first...), f.raw[20:]...)
					binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
					binary.BigEndian.PutUint16(ip[6:], packet.DontFragment)
					putIPSum(ip)
					g := parseIP(ip)
					g.accept()
					w.toDevice(g)
				}
			}}
		},
	},
	{
		Name: "takes-bad-checksum", Breaks: "A packet with a wrong UDP checksum is executed.",
		Cases: []string{"header/30"},
		Shows: "a wrong UDP checksum is executed",
		hooks: in(func(_ *world, f *frame) {
			if f.badIP == errSum {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-bad-ip-checksum", Breaks: "A packet with a wrong IPv4 header checksum is executed.",
		Cases: []string{"header/34"},
		hooks: in(func(_ *world, f *frame) {
			if errors.Is(f.badIP, encap.ErrChecksum) {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-other-port", Breaks: "A packet to another UDP port than 4791 is executed.",
		Cases: []string{"header/36"},
		hooks: in(func(_ *world, f *frame) {
			if errors.Is(f.badIP, encap.ErrNotRoCE) {
				f.accept()
			}
		}),
	},
	{
		Name: "takes-v1", Breaks: "A RoCEv1 frame to a queue pair of RoCEv2 is executed.",
		Cases: []string{"header/31"},
		hooks: in(func(_ *world, f *frame) {
			if errors.Is(f.badIP, errV1) {
				f.accept()
			}
		}),
	},
	{
		Name: "drops-fragmentable", Breaks: "A packet without DF is dropped.",
		Cases: []string{"header/32"},
		Shows: "a packet without DF is dropped",
		hooks: dropIn(func(f *frame) bool { return f.badIP == nil && f.flags == 0 }),
	},
	{
		Name: "drops-high-ids", Breaks: "A packet with an IPv4 identification from 0x8000 on is dropped.",
		Cases: []string{"header/35"},
		hooks: dropIn(func(f *frame) bool { return f.id >= 0x8000 }),
	},
	{
		Name: "one-source-port", Breaks: "A request from another UDP source port than the first one is dropped.",
		Cases: []string{"header/8", "header/21"},
		hooks: func(*world) hooks {
			first := uint16(0)
			return hooks{in: func(f *frame) {
				if first == 0 {
					first = f.port
				}
				if f.port != first {
					f.drop()
				}
			}}
		},
	},
	{
		Name: "ip-checksum", Breaks: "The checksum of the IPv4 header is wrong.",
		Cases: []string{"header/15"},
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				ip[10] ^= 0x55
				return ip
			}
		}),
	},
	{
		Name: "constant-id", Breaks: "All IPv4 identifications are 7.",
		Cases: []string{"header/16"},
		Shows: "[7 7 7 7 7",
		hooks: out(func(_ *world, f *frame) {
			f.id = 7
			f.reseal()
		}),
	},
	{
		Name: "constant-port", Breaks: "All connections have the UDP source port 49155.",
		Cases: []string{"header/12"},
		Shows: "[49155 49155]",
		hooks: out(func(_ *world, f *frame) {
			f.port = 49155
			f.reseal()
		}),
	},
	{
		Name: "other-port", Breaks: "Replies go to the UDP source port of the request.",
		Cases: []string{"header/8"},
		hooks: func(*world) hooks {
			last := uint16(wire.Port)
			return hooks{
				in: func(f *frame) { last = f.port },
				out: func(f *frame) {
					port := last
					f.header = func(ip []byte) []byte {
						binary.BigEndian.PutUint16(ip[22:], port)
						return wire.FixICRC(ip)
					}
				},
			}
		},
	},
	{
		Name: "ack-fecn", Breaks: "An acknowledgement has FECN.",
		Cases: []string{"header/13"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAck) }, func(f *frame) { f.FECN = true }),
	},
	{
		Name: "ack-solicited", Breaks: "An acknowledgement has the solicited event bit.",
		Cases: []string{"header/14"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAck) }, func(f *frame) { f.Solicited = true }),
	},
	{
		Name: "ack-pkey", Breaks: "An acknowledgement has another P_Key than the connection.",
		Cases: []string{"header/14"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAck) }, func(f *frame) { f.PKey = 0x8001 }),
	},
	{
		Name: "other-header-icrc", Breaks: "The ICRC does not cover the addresses of the IP header.",
		Cases:   []string{"header/37"},
		Related: []string{"icrc", "uc", "ud", "responder", "atomic", "cm", "congestion"},
		hooks: changeIn(func(f *frame) bool { return f.badICRC && f.badIP == nil && f.err == nil },
			func(f *frame) { f.badICRC = false }),
	},
	{
		Name: "any-version", Breaks: "A packet with another transport version is executed.",
		Cases:   []string{"responder/1"},
		Related: []string{"uc", "ud"},
		hooks: changeIn(func(f *frame) bool { return f.err != nil && len(f.data) > bth.BTHLen }, func(f *frame) {
			f.data[1] &^= 0x0f
			f.reseal()
		}),
	},
	{
		Name: "any-queue-pair", Breaks: "A packet to an unknown queue pair is executed by another one.",
		Cases: []string{"header/17", "responder/2"},
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
		Cases:   []string{"header/18"},
		Related: []string{"responder"},
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
		Cases:   []string{"responder/3"},
		Related: []string{"uc", "ud"},
		hooks: changeIn(func(f *frame) bool { return f.err == nil && f.PKey&0x7fff != 0x7fff },
			func(f *frame) { f.PKey = 0xffff }),
	},
	{
		Name: "limited-pkey", Breaks: "The P_Key of a limited member is refused by a full member.",
		Cases: []string{"responder/5"},
		hooks: dropIn(func(f *frame) bool { return f.err == nil && f.PKey == 0x7fff }),
	},
	{
		Name: "any-source", Breaks: "A packet from another address than the peer's is executed.",
		Cases: []string{"responder/6"},
		hooks: changeIn(func(f *frame) bool { return f.flow != nil && f.src != f.flow.local.Addr }, func(f *frame) {
			f.src = f.flow.local.Addr
			f.reseal()
		}),
	},
	{
		Name: "any-service", Breaks: "An opcode of another transport service is executed as that of RC.",
		Cases: []string{"responder/7"},
		hooks: in(func(_ *world, f *frame) {
			if f.err == nil && f.flow != nil && f.flow.kind == bth.ServiceRC && f.Opcode&0xe0 != 0 &&
				f.Opcode != bth.CNP {
				f.Opcode = f.Opcode & 0x1f
			}
		}),
	},
	{
		Name: "congestion-drop", Breaks: "A request with FECN or BECN is dropped.",
		Cases:   []string{"header/19", "responder/8"},
		Related: []string{"icrc"},
		hooks:   dropIn(func(f *frame) bool { return f.rcRequest() && (f.FECN || f.BECN) }),
	},
	{
		Name: "tos-drop", Breaks: "A packet whose ToS or TTL was changed on the way is dropped.",
		Cases:   []string{"header/20"},
		Related: []string{"congestion", "responder"},
		hooks:   dropIn(func(f *frame) bool { return f.tos != 0 || f.ttl != 64 }),
	},
	{
		Name: "needs-checksum", Breaks: "A packet with UDP checksum 0 is dropped.",
		Cases: []string{"header/29"},
		hooks: dropIn(func(f *frame) bool { return f.noSum }),
	},
	{
		Name: "reserved-drop", Breaks: "A packet with reserved bits set is dropped.",
		Cases:   []string{"header/23", "responder/9"},
		Related: []string{"icrc"},
		Shows:   "is dropped",
		hooks: dropIn(func(f *frame) bool {
			return f.err == nil && len(f.data) > bth.BTHLen && (f.data[4]&0x3f != 0 || f.data[8]&0x7f != 0)
		}),
	},
	{
		Name: "needs-migreq", Breaks: "A packet with MigReq 0 is dropped.",
		Cases: []string{"responder/10"},
		hooks: dropIn(func(f *frame) bool { return f.rcRequest() && !f.MigReq }),
	},
}
