package cases

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// header are the rules of the headers that the device sends (IBA annex A17). Where a UDP link shows
// a field, the case needs no raw link.
var header = []conformance.Case{
	{
		ID: "header/1", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "The IPv4 header of the device has no options: IHL 5.",
		Source: "IBA CA17-3",
		Run: func(t *conformance.T) {
			for _, r := range replies4(t, 8) {
				if r.IP[0] != 0x45 {
					t.Fail("the first byte of the IPv4 header is %#02x, not 0x45", r.IP[0])
				}
			}
		},
	},
	{
		ID: "header/2", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "The device sets DF and no other flag, and the fragment offset is 0.",
		Source: "IBA CA17-7, CA17-8",
		Run: func(t *conformance.T) {
			for _, r := range replies4(t, 8) {
				if v := binary.BigEndian.Uint16(r.IP[6:]); v != 0x4000 {
					t.Fail("flags and fragment offset are %#04x, not 0x4000", v)
				}
			}
		},
	},
	{
		ID: "header/3", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Time to live or hop limit is that of the address vector: 255 in perftest.",
		Source: "IBA CA17-9, CA17-17",
		Run: func(t *conformance.T) {
			c := t.Connect()
			ttl := c.Control().TTL
			for _, r := range replies(c, 32) {
				if r.TTL != ttl {
					t.Fail("the time to live changes from %d to %d", ttl, r.TTL)
				}
			}
			if ttl == 255 {
				return
			}
			// A router between the two decrements it.
			t.Unclear("the time to live arrives as %d; perftest sets 255, which Linux replaces by the hop limit of the route "+
				"(64) where it resolves the address", ttl)
		},
	},
	{
		ID: "header/4", Level: conformance.Shall, Program: conformance.WriteServerTClass,
		Rule:   "The DSCP is that of the traffic class of the address vector.",
		Source: "IBA CA17-4, CA17-13",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, r := range replies(c, 8) {
				if r.TOS>>2 != conformance.TClass>>2 {
					t.Fail("the DSCP is %d, the program asks for %d", r.TOS>>2, conformance.TClass>>2)
				}
			}
		},
	},
	{
		ID: "header/5", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The ECN field is 00 unless the device supports congestion management, and never 11.",
		Source: "IBA CA17-5, CA17-14",
		Run: func(t *conformance.T) {
			c := t.Connect()
			ecn := c.Control().TOS & 3
			for _, r := range replies(c, 8) {
				if r.TOS&3 == 3 {
					t.Fail("the device sends packets that are marked as congestion experienced (11)")
				}
				ecn |= r.TOS & 3
			}
			if ecn == 0 {
				return
			}
			if len(cnpsFor(t, c)) == 0 {
				t.Unclear("the ECN field is %02b, but marked packets get no CNP: a device without congestion management must "+
					"send 00; one that only obeys CNPs may send ECT", ecn)
			}
			t.Observe("the ECN field is %02b, and marked packets get CNPs", ecn)
		},
	},
	{
		ID: "header/6", Level: conformance.Shall, Program: conformance.ReadServer, Raw: true,
		Rule:   "The IP and the UDP length end with the ICRC.",
		Source: "IBA CA17-6, CA17-15, CA17-21",
		Run: func(t *conformance.T) {
			eachResponse(t, func(n int, r *wire.Received) {
				head, total := 20, int(binary.BigEndian.Uint16(r.IP[2:]))
				if r.IP[0]>>4 == 6 {
					head, total = 40, 40+int(binary.BigEndian.Uint16(r.IP[4:]))
				}
				udp := int(binary.BigEndian.Uint16(r.IP[head+4:]))
				want := 8 + bth.BTHLen + bth.AETHLen + (n+3)&^3 + bth.ICRCLen
				if total != head+want || udp != want {
					t.Fail("%d bytes of data: the IP packet has %d bytes and the UDP length is %d, expected are %d and %d", n, total,
						udp, head+want, want)
				}
			})
		},
	},
	{
		ID: "header/7", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Source and destination address are those of the GIDs of the connection.",
		Source: "IBA CA17-11, CA17-12, CA17-18, CA17-19",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, r := range replies(c, 8) {
				if r.Src.Addr() != c.Target.Addr || r.Dst.Addr() != c.Local.Addr {
					t.Fail("a packet from %v to %v came, the connection is between %v and %v", r.Src.Addr(),
						r.Dst.Addr(), c.Target.Addr, c.Local.Addr)
				}
			}
		},
	},
	{
		ID: "header/8", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "The UDP destination port is 4791, whatever the source port of the requests is.",
		Source: "IBA CA17-20",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			// The reply comes to this link only if its destination port is 4791.
			for _, port := range []uint16{0xc000, 0xd123, 0xffff} {
				executedOn(t, c, "a request of another source port", func(p *wire.Packet) { p.SrcPort = port })
			}
		},
	},
	{
		ID: "header/9", Level: conformance.Should, Program: conformance.WriteServer,
		Rule:   "All packets of a queue pair have the same UDP source port.",
		Source: "IBA A17.3.2.1, A17.9.4",
		Run: func(t *conformance.T) {
			c := t.Connect()
			port := c.Control().Src.Port()
			const packets = 2000
			for _, r := range replies(c, packets) {
				if r.Src.Port() != port {
					t.Fail("the source port changes from %d to %d", port, r.Src.Port())
				}
			}
			t.Observe("%d packets with source port %d", packets, port)
		},
	},
	{
		ID: "header/10", Level: conformance.Should, Program: conformance.WriteServer, Raw: true,
		Rule:   "The UDP checksum is 0.",
		Source: "IBA A17.3.2.4",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, r := range replies(c, 8) {
				head := len(r.IP) - len(r.Bytes) - 8
				if sum := binary.BigEndian.Uint16(r.IP[head+6:]); sum != 0 {
					t.Fail("the UDP checksum is %#04x", sum)
				}
			}
		},
	},
	{
		ID: "header/11", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "The ICRC covers the masked IP and UDP header, after 64 one bits.",
		Source: "IBA CA17-22, 7.8.1",
		Run: func(t *conformance.T) {
			eachResponse(t, func(n int, r *wire.Received) {
				if r.ICRC == wire.Wrong {
					t.Fail("%d bytes of data: the ICRC is wrong", n)
				}
			})
			if !t.Link().Raw() {
				t.Observe("right for some IPv4 identification, which a UDP link does not see")
			}
		},
	},
	{
		ID: "header/12", Level: conformance.Observed, Program: conformance.WriteServer,
		Rule:   "UDP source ports of several connections, which spread them over paths.",
		Source: "IBA A17.3.2.1; Linux ib_verbs.h, IB_ROCE_UDP_ENCAP_VALID_PORT_MIN (0xc000)",
		Run: func(t *conformance.T) {
			var ports []uint16
			for range 2 {
				c := t.Connect()
				port := c.Control().Src.Port()
				ports = append(ports, port)
				t.Sample("source port", "", float64(port))
			}
			t.Observe("ports %v", ports)
		},
	},
	{
		ID: "header/13", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "In an acknowledgement, the version, the pad count and the reserved bits of the BTH are 0, FECN too.",
		Source: "IBA 9.2.2 to 9.2.9",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, r := range replies(c, 8) {
				b := r.Bytes
				if b[1]&0x3f != 0 || b[4]&0xbf != 0 || b[8]&0x7f != 0 || len(b) != bth.BTHLen+bth.AETHLen+bth.ICRCLen {
					t.Fail("the acknowledgement is % x", b)
				}
			}
		},
	},
	{
		ID: "header/14", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "An acknowledgement has the P_Key of the connection, the tester's queue pair and no solicited event.",
		Source: "IBA 9.2.3, 9.2.6, 9.7.5.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, r := range replies(c, 8) {
				if r.PKey != 0xffff || r.DestQP != c.Local.QPN || r.Solicited {
					t.Fail("P_Key %#04x, queue pair %d, SE %v; expected are 0xffff, %d and false", r.PKey, r.DestQP,
						r.Solicited, c.Local.QPN)
				}
			}
		},
	},
	{
		ID: "header/15", Level: conformance.Shall, Program: conformance.WriteServer, Raw: true,
		Rule:   "The checksum of the IPv4 header is right.",
		Source: "RFC 1122, 3.2.1.2; IBA CA17-10",
		Run: func(t *conformance.T) {
			for _, r := range replies4(t, 8) {
				sum := uint32(0)
				for i := 0; i < 20; i += 2 {
					sum += uint32(binary.BigEndian.Uint16(r.IP[i:]))
				}
				if sum>>16+sum&0xffff != 0xffff {
					t.Fail("the header % x has a wrong checksum", r.IP[:20])
				}
			}
		},
	},
	{
		ID: "header/16", Level: conformance.Observed, Program: conformance.WriteServer, Raw: true,
		Rule:   "The identifications of IPv4 packets.",
		Source: "RFC 6864, 4.1: any value with DF; IBA A17.3.2.2",
		Run: func(t *conformance.T) {
			var ids []uint16
			for _, r := range replies4(t, 5) {
				ids = append(ids, binary.BigEndian.Uint16(r.IP[4:]))
			}
			t.Observe("%v", ids)
		},
	},
}

// eachResponse calls judge with the response to READs of n bytes, for several n up to the path MTU.
func eachResponse(t *conformance.T, judge func(n int, r *wire.Received)) {
	c := t.Connect()
	c.Control()
	for _, n := range []int{0, 1, 2, 3, 4, 5, 64, 255, 1001, 1024} {
		c.Send(c.Read(0, uint32(n)))
		r := c.Response(t.Timeout())
		m := conformance.DataOf(c.PSN, bth.RCReadResponseOnly)
		if r == nil || r.Err != nil || !m.Is(r) || len(r.Payload) != n {
			t.Fail("a READ of %d bytes was not answered with one response of this length", n)
		}
		judge(n, r)
		c.PSN = c.PSN.Add(1)
	}
}
