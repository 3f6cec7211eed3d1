package fabric

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gorxe/gorxe/trace/tunnel"
)

// Space tells what the number of an ID means.
type Space uint8

const (
	TooDeep    Space = iota // more than tunnel.MaxDepth encapsulations
	LinkType                // capture.LinkType
	NoIP                    // a link layer without EtherType, and no IP header
	EtherType               // EtherType
	LLC                     // destination service access point of IEEE 802.2
	IPProtocol              // IP protocol number
	UDPPort                 // UDP destination port
	Fabric                  // Protocol
)

// ID identifies a protocol.
type ID struct {
	Space  Space
	Number uint32
}

// maxProtocols is the number of protocols that are counted one by one; the others have one count.
const maxProtocols = 256

// Counter counts frames by protocol. The zero value is ready to use.
type Counter struct {
	by   map[ID]*uint64
	rest uint64
	last ID      // of the latest call of Add
	n    *uint64 // its count
}

// Add counts a frame with the protocol p.
func (c *Counter) Add(p ID) {
	if c.n != nil && c.last == p {
		*c.n++
		return
	}
	n := c.by[p]
	if n == nil {
		if len(c.by) >= maxProtocols {
			c.rest++
			return
		}
		if c.by == nil {
			c.by = map[ID]*uint64{}
		}
		n = new(uint64)
		c.by[p] = n
	}
	*n++
	c.last, c.n = p, n
}

// Count is the number of frames with a protocol.
type Count struct {
	Name   string `json:"name"` // such as "TCP", "ARP", "UDP to port 53" or "iWARP"
	Frames uint64 `json:"frames"`
}

// Counts returns the numbers of frames, most frequent protocol first. After 256 protocols, all
// others are counted together, as "other protocols".
func (c *Counter) Counts() []Count {
	var all []Count
	for p, n := range c.by {
		all = append(all, Count{p.String(), *n})
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Frames, a.Frames), cmp.Compare(a.Name, b.Name))
	})
	if c.rest > 0 {
		all = append(all, Count{"other protocols", c.rest})
	}
	return all
}

// String returns the name of the protocol, such as "TCP", or its number.
func (p ID) String() string {
	switch p.Space {
	case NoIP:
		return "link layer without IP"
	case LinkType:
		return fmt.Sprintf("link type %d", p.Number)
	case EtherType:
		return name(etherNames, p.Number, "EtherType 0x%04x")
	case LLC:
		return name(llcNames, p.Number, "IEEE 802.2 SAP 0x%02x")
	case IPProtocol:
		return name(ipNames, p.Number, "IP protocol %d")
	case UDPPort:
		return fmt.Sprintf("UDP to port %d", p.Number)
	case Fabric:
		return Protocol(p.Number).String()
	}
	return fmt.Sprintf("more than %d encapsulations", tunnel.MaxDepth)
}

func name(names map[uint32]string, n uint32, format string) string {
	if s := names[n]; s != "" {
		return s
	}
	return fmt.Sprintf(format, n)
}

// etherNames are names of EtherTypes (IEEE 802 numbers, IANA).
var etherNames = map[uint32]string{
	0x0800: "IPv4", 0x0806: "ARP", 0x22eb: "ERSPAN III", 0x22f0: "AVTP", 0x22f3: "TRILL", 0x6558: "bridged Ethernet",
	0x8035: "RARP", 0x86dd: "IPv6", 0x8808: "Ethernet MAC control", 0x8809: "slow protocols (LACP)", 0x8847: "MPLS",
	0x8848: "MPLS multicast", 0x8863: "PPPoE discovery", 0x8864: "PPPoE", 0x887b: "HomePlug", 0x888e: "IEEE 802.1X",
	0x8892: "PROFINET", 0x88a2: "ATA over Ethernet", 0x88b5: "local experimental EtherType",
	0x88be: "ERSPAN", 0x88cc: "LLDP", 0x88e5: "MACsec", 0x88e7: "provider backbone bridging", 0x88f5: "MVRP",
	0x88f7: "PTP", 0x8902: "CFM", 0x8906: "FCoE", 0x8914: "FIP", 0x8915: "RoCEv1", 0x894f: "NSH",
	0x9000: "Ethernet loopback test", tunnel.TypeInfiniBand: "InfiniBand",
}

// llcNames are names of destination service access points (IEEE 802.2).
var llcNames = map[uint32]string{0x42: "STP", 0xaa: "SNAP", 0xe0: "IPX", 0xf0: "NetBEUI", 0xfe: "IS-IS"}

// ipNames are names of IP protocols (IANA).
var ipNames = map[uint32]string{
	0: "IPv6 hop-by-hop options", 1: "ICMP", 2: "IGMP", 4: "IP-in-IP", 6: "TCP", 17: "UDP", 41: "IPv6 in IP",
	47: "GRE", 50: "ESP", 51: "AH", 58: "ICMPv6", 59: "IPv6 without next header", 88: "EIGRP", 89: "OSPF", 103: "PIM",
	112: "VRRP",
	115: "L2TP", 132: "SCTP", 136: "UDP-Lite", 137: "MPLS in IP", 253: "Ultra Ethernet or experiment (IP protocol 253)",
}

// maxLength802 is the largest value of the EtherType field that is a length (IEEE 802.3).
const maxLength802 = 1500

// OfEthernet returns the protocol of an Ethernet frame at p.
func OfEthernet(p tunnel.Place) ID {
	if p.Type <= maxLength802 && len(p.Data) > 0 {
		return ID{LLC, uint32(p.Data[0])}
	}
	return ID{EtherType, uint32(p.Type)}
}

// OfIP returns the protocol of an IP datagram.
func OfIP(h *tunnel.IPHeader) ID {
	if b := h.Payload.Data; h.Protocol == tunnel.ProtoUDP && len(b) >= 4 {
		return ID{UDPPort, uint32(binary.BigEndian.Uint16(b[2:]))}
	}
	return ID{IPProtocol, uint32(h.Protocol)}
}
