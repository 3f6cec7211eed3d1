package cases

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// headerReceived are the rules of headers that the device receives (IBA CA17-24).
var headerReceived = []conformance.Case{
	{
		ID: "header/17", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet to a queue pair that does not exist is dropped silently.",
		Source: "IBA 9.6.1.1; Linux rxe_recv.c, hdr_check",
		Run: func(t *conformance.T) {
			unanswered(t, "a packet to an unknown queue pair", func(p *wire.Packet) { p.DestQP ^= 0x7ff000 })
		},
	},
	{
		ID: "header/18", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet to queue pair 0 is dropped silently.",
		Source: "IBA CA17-33",
		Run: func(t *conformance.T) {
			unanswered(t, "a packet to queue pair 0", func(p *wire.Packet) { p.DestQP = 0 })
		},
	},
	{
		ID: "header/19", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "FECN and BECN in a request are ignored.",
		Source: "IBA CA17-29",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			executedOn(t, c, "a request with FECN", func(p *wire.Packet) { p.FECN = true })
			executedOn(t, c, "a request with BECN", func(p *wire.Packet) { p.BECN = true })
			executedOn(t, c, "a request with both", func(p *wire.Packet) { p.FECN, p.BECN = true, true })
		},
	},
	{
		ID: "header/20", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The ICRC does not cover type of service, time to live, FECN and BECN, which routers change.",
		Source: "IBA CA17-22, 7.8.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, v := range []uint8{0x04, 0x68, 0xb8, 0xfc} {
				executedOn(t, c, "a request with another DSCP", func(p *wire.Packet) { p.TOS = v })
			}
			for _, v := range []uint8{1, 2, 255} {
				executedOn(t, c, "a request with another time to live", func(p *wire.Packet) { p.TTL = v })
			}
			executedOn(t, c, "a request in which FECN changed on the way", func(p *wire.Packet) {
				p.Damage = func(b []byte) []byte { b[4] ^= 0xc0; return b }
			})
		},
	},
	{
		ID: "header/21", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The UDP source port is no part of the connection: a request from any port is executed.",
		Source: "IBA A17.3.2.1; Linux rxe_recv.c, check_addr",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, port := range []uint16{1025, 0xc000, 0xfffe} {
				executedOn(t, c, "a request of another source port", func(p *wire.Packet) { p.SrcPort = port })
			}
		},
	},
	{
		ID: "header/22", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A datagram that is too short for BTH and ICRC is dropped silently.",
		Source: "IBA CA17-24, 9.6.1; Linux rxe_net.c, rxe_udp_encap_recv",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, n := range []int{0, 1, 4, 11, 12, 15} {
				p := c.Write(0, make([]byte, 8))
				p.Damage = func(b []byte) []byte { return b[:n] }
				c.Send(p)
			}
			c.Quiet("a datagram without BTH and ICRC")
			c.Alive("datagrams without BTH and ICRC")
		},
	},
	{
		ID: "header/23", Level: conformance.Observed, Program: conformance.WriteServer,
		Rule:   "Reserved bits of the BTH in a request.",
		Source: "IBA 9.2: ignored by a receiver",
		Run: func(t *conformance.T) {
			for _, x := range []struct {
				what string
				at   int
				bits byte
			}{{"a reserved bit beside BECN", 4, 0x3f}, {"a reserved bit beside AckReq", 8, 0x7f}} {
				observe(t, x.what, func(p *wire.Packet) {
					p.Edit = func(b []byte) []byte { b[x.at] |= x.bits; return b }
				})
			}
		},
	},
	{
		ID: "header/24", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet whose UDP length is longer than its IP packet is dropped silently.",
		Source: "IBA CA17-24, CA17-21",
		Run: func(t *conformance.T) {
			unanswered(t, "a UDP length of 4 bytes more", edited(addUDPLen(4)))
		},
	},
	{
		ID: "header/25", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet whose UDP length is shorter than its IP packet is dropped silently.",
		Source: "IBA CA17-24, CA17-21",
		Run: func(t *conformance.T) {
			unanswered(t, "a UDP length of 4 bytes less", edited(addUDPLen(-4)))
		},
	},
	{
		ID: "header/26", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "An IP packet that is shorter than its length field is dropped silently.",
		Source: "IBA CA17-24, CA17-6, CA17-15",
		Run: func(t *conformance.T) {
			unanswered(t, "an IP packet that is cut", func(p *wire.Packet) {
				p.NoChecksum, p.Header = true, func(ip []byte) []byte { return ip[:len(ip)-4] }
			})
		},
	},
	{
		ID: "header/27", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet whose IP length ends before the ICRC is dropped silently.",
		Source: "IBA CA17-24, CA17-6, CA17-15",
		Run: func(t *conformance.T) {
			unanswered(t, "an IP length of 4 bytes less", func(p *wire.Packet) {
				p.NoChecksum, p.Header = true, func(ip []byte) []byte {
					at := 2
					if ip[0]>>4 == 6 {
						at = 4
					}
					binary.BigEndian.PutUint16(ip[at:], binary.BigEndian.Uint16(ip[at:])-4)
					return ip
				}
			})
		},
	},
	{
		ID: "header/28", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet with IPv4 options (IHL other than 5) is dropped silently.",
		Source: "IBA CA17-24, CA17-3",
		Run: func(t *conformance.T) {
			c := t.Connect()
			need4(t, c)
			c.Control()
			silentOn(c, "a packet with IPv4 options", edited(addOptions))
			silentOn(c, "a packet with IPv4 options in its ICRC", edited(func(ip []byte) []byte {
				return wire.FixICRC(addOptions(ip))
			}))
		},
	},
	{
		ID: "header/29", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet with UDP checksum 0 is executed.",
		Source: "IBA A17.3.2.4; RFC 6935",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			if acknowledged(t, c, func(p *wire.Packet) { p.NoChecksum = true }) {
				return
			}
			if c.Target.Addr.Is4() {
				t.Fail("a request with UDP checksum 0 must be executed, but was not acknowledged")
			}
			t.Unclear("over IPv6, a request with UDP checksum 0 is dropped, as UDP sockets of Linux do; the RoCEv2 sockets of Linux " +
				"accept it (RFC 6935)")
		},
	},
	{
		ID: "header/30", Level: conformance.Observed, Program: conformance.WriteServer, Raw: true,
		Rule:   "A wrong UDP checksum, which RoCEv2 does not need.",
		Source: "IBA A17.3.2.4; RFC 1122, 4.1.3.4",
		Run: func(t *conformance.T) {
			observe(t, "a wrong UDP checksum", func(p *wire.Packet) {
				p.Header = func(ip []byte) []byte { ip[udpAt(ip)+7] ^= 0x55; return ip }
			})
		},
	},
	{
		ID: "header/31", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A RoCEv1 frame to a queue pair of a RoCEv2 GID is dropped silently.",
		Source: "IBA CA17-41, CA17-43",
		Run: func(t *conformance.T) {
			unanswered(t, "a RoCEv1 frame", func(p *wire.Packet) { p.V1 = true })
		},
	},
	{
		ID: "header/32", Level: conformance.Observed, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet without DF.",
		Source: "IBA CA17-7: a sender sets it; CA17-24",
		Run: func(t *conformance.T) {
			observe4(t, "a packet without DF", func(p *wire.Packet) {
				p.NoChecksum, p.Header = true, func(ip []byte) []byte { ip[6] = 0; return wire.FixICRC(ip) }
			})
		},
	},
	{
		ID: "header/33", Level: conformance.Observed, Program: conformance.WriteServer, Raw: true,
		Rule:   "A request in two IPv4 fragments.",
		Source: "IBA CA17-8: a sender does not fragment; CA17-24",
		Run:    fragments,
	},
	{
		ID: "header/34", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet with a wrong IPv4 header checksum is dropped silently.",
		Source: "RFC 1122, 3.2.1.2",
		Run: func(t *conformance.T) {
			c := t.Connect()
			need4(t, c)
			c.Control()
			silentOn(c, "a wrong IPv4 header checksum", func(p *wire.Packet) {
				p.KeepSum, p.Header = true, func(ip []byte) []byte { ip[11] ^= 0x55; return ip }
			})
		},
	},
	{
		ID: "header/35", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet with any IPv4 identification is executed.",
		Source: "RFC 6864, 4.1; IBA CA17-22",
		Run: func(t *conformance.T) {
			c := t.Connect()
			need4(t, c)
			c.Control()
			for _, id := range []uint16{1, 0x00ff, 0xff00, 0xffff} {
				executedOn(t, c, "a packet with another identification", func(p *wire.Packet) {
					p.NoChecksum, p.Header = true, func(ip []byte) []byte {
						binary.BigEndian.PutUint16(ip[4:], id)
						return wire.FixICRC(ip)
					}
				})
			}
		},
	},
	{
		ID: "header/36", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "A packet to another UDP port than 4791 is no RoCEv2 packet.",
		Source: "IBA CA17-20, CA17-24",
		Run: func(t *conformance.T) {
			unanswered(t, "a packet to UDP port 4790", func(p *wire.Packet) {
				p.NoChecksum, p.Header = true, func(ip []byte) []byte { ip[udpAt(ip)+3]--; return wire.FixICRC(ip) }
			})
		},
	},
	{
		ID: "header/37", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A packet with a wrong ICRC is dropped silently, also if the ICRC is 0.",
		Source: "IBA CA17-22, CA17-24",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			silentOn(c, "a packet with a wrong ICRC", func(p *wire.Packet) {
				p.Damage = func(b []byte) []byte { return append(b[:len(b)-bth.ICRCLen], 1, 2, 3, 4) }
			})
			silentOn(c, "a packet with ICRC 0", func(p *wire.Packet) {
				p.Damage = func(b []byte) []byte { return append(b[:len(b)-bth.ICRCLen], 0, 0, 0, 0) }
			})
		},
	},
}

// edited changes the IP packet, whose UDP checksum is 0.
func edited(change func(ip []byte) []byte) func(p *wire.Packet) {
	return func(p *wire.Packet) { p.NoChecksum, p.Header = true, change }
}

// need4 does not run the case against an IPv6 address.
func need4(t *conformance.T, c *conformance.Conn) {
	if !c.Target.Addr.Is4() {
		t.NotRun("the device has an IPv6 address, the rule is about IPv4")
	}
}

func observe4(t *conformance.T, what string, change func(p *wire.Packet)) {
	c := t.Connect()
	need4(t, c)
	c.Control()
	if acknowledged(t, c, change) {
		t.Observe("%s is executed", what)
	} else {
		t.Observe("%s is dropped", what)
	}
}

// udpAt returns the offset of the UDP header.
func udpAt(ip []byte) int {
	if ip[0]>>4 == 6 {
		return 40
	}
	return int(ip[0]&15) * 4
}

// addUDPLen changes the UDP length, but not the packet; the ICRC is right for the header as it is.
func addUDPLen(n int) func(ip []byte) []byte {
	return func(ip []byte) []byte {
		at := udpAt(ip) + 4
		binary.BigEndian.PutUint16(ip[at:], uint16(int(binary.BigEndian.Uint16(ip[at:]))+n))
		return wire.FixICRC(ip)
	}
}

// addOptions inserts four IPv4 options "no operation" and leaves the ICRC.
func addOptions(ip []byte) []byte {
	out := append(append([]byte(nil), ip[:20]...), 1, 1, 1, 1)
	out = append(out, ip[20:]...)
	out[0]++
	binary.BigEndian.PutUint16(out[2:], uint16(len(out)))
	return out
}

// fragments sends a WRITE of 256 bytes in two fragments. The ICRC is that of the whole packet
// without DF.
func fragments(t *conformance.T) {
	c := t.Connect()
	need4(t, c)
	c.Control()
	p := c.Write(0, make([]byte, 256))
	const first = 128 // bytes of IP payload
	piece := func(flags uint16, from, to int) func(ip []byte) []byte {
		return func(ip []byte) []byte {
			binary.BigEndian.PutUint16(ip[4:], 0x1234)
			ip[6], ip[7] = 0, 0
			wire.FixICRC(ip)
			out := append(append([]byte(nil), ip[:20]...), ip[20+from:min(20+to, len(ip))]...)
			binary.BigEndian.PutUint16(out[2:], uint16(len(out)))
			binary.BigEndian.PutUint16(out[6:], flags|uint16(from/8))
			return out
		}
	}
	p.NoChecksum = true
	q := *p
	p.Header, q.Header = piece(0x2000, 0, first), piece(0, first, 1<<16)
	c.Send(p)
	c.Send(&q)
	if r := c.Response(t.Timeout()); r == nil {
		t.Observe("a request in fragments is dropped")
	} else {
		t.Observe("a request in fragments is put together and executed")
		c.PSN = c.PSN.Add(1)
	}
	c.Alive("fragments")
}
