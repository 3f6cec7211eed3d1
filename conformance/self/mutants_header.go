package self

import (
	"encoding/binary"
	"errors"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
)

// invalidIP are the chapters that see an IP or UDP header whose lengths or options are wrong: such
// a packet is invalid for the tester, as it has no ICRC at the right place.
var invalidIP = []string{"atomic", "cm", "icrc", "psn", "requester", "responder", "rnr", "uc", "ud"}

// headerMutants break rules of the IP and UDP headers and of the fields of the BTH.
var headerMutants = []Mutant{
	{
		Name: "sends-options", Breaks: "Packets have IPv4 options.",
		Cases:   []string{"header/1"},
		Related: invalidIP,
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				b := append([]byte{}, ip[:20]...)
				b = append(append(b, 1, 1, 1, 1), ip[20:]...)
				b[0]++
				binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
				putIPSum(b)
				return wire.FixICRC(b)
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
		Name: "sets-ecn", Breaks: "ECN is 10 without congestion management.",
		Cases: []string{"header/5"},
		Shows: "a device without congestion management must send 00",
		hooks: out(func(_ *world, f *frame) { f.tos |= 2 }),
	},
	{
		Name: "ip-padding", Breaks: "The IP packet is longer than its UDP datagram.",
		Cases:   []string{"header/6"},
		Related: invalidIP,
		hooks: out(func(_ *world, f *frame) {
			f.header = func(ip []byte) []byte {
				const padding = 4
				binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)+padding))
				ip = append(wire.FixICRC(ip), make([]byte, padding)...)
				putIPSum(ip)
				return ip
			}
		}),
	},
	{
		Name: "udp-length", Breaks: "The UDP length does not include the ICRC.",
		Cases:   []string{"header/6", "header/11"},
		Related: append([]string{"congestion"}, invalidIP...),
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
		Cases: []string{"header/8", "header/21", "responder/13"},
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
		Cases:   []string{"header/8"},
		Related: []string{"responder"},
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
		Cases: []string{"header/14", "responder/21"},
		hooks: changeOut(func(f *frame) bool { return f.is(bth.OpAck) }, func(f *frame) { f.Solicited = true }),
	},
	{
		Name: "ack-pkey", Breaks: "An acknowledgement has another P_Key than the connection.",
		Cases:   []string{"header/14"},
		Related: []string{"responder"},
		hooks:   changeOut(func(f *frame) bool { return f.is(bth.OpAck) }, func(f *frame) { f.PKey = 0x8001 }),
	},
	{
		Name: "zero-icrc", Breaks: "A packet with ICRC 0 is executed, as if it had none.",
		Cases: []string{"header/37"},
		hooks: changeIn(func(f *frame) bool {
			return f.badICRC && f.badIP == nil && f.err == nil &&
				binary.BigEndian.Uint32(f.data[len(f.data)-bth.ICRCLen:]) == 0
		}, func(f *frame) { f.badICRC = false }),
	},
}
