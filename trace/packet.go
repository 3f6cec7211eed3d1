package trace

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace/capture"
)

// Packet is one RoCEv2 packet of a capture. The first part is what stands in it, by [Decoder]; the second what it means, by
// [Analyzer].
type Packet struct {
	Frame       *capture.Frame // that it was in; borrowed as Bytes is
	Number      int            // of its frame
	Part, Parts int            // a frame of a sender with segmentation offload holds several packets; else 1 of 1
	Time        time.Time
	Direction   capture.Direction
	Src, Dst    netip.AddrPort
	IP          IP
	Comments    []string // of its frame, see [capture.Frame]

	BTH   bth.Packet // its Payload is borrowed as Bytes is
	Bytes []byte     // from the BTH to the ICRC, as far as they were captured; borrowed until the next frame
	Len   int        // bytes from the BTH to the ICRC, on the wire
	Err   error      // why the packet could not be decoded; BTH then holds what could be read
	ICRC  ICRC
	MAD   *mad.Message // a message of the connection manager, borrowed as the packet is; nil in other packets
	// Doubt is set where a datagram to the RoCEv2 port may be something else: neither its ICRC nor its headers are right.
	Doubt bool

	Flow     *Flow
	Role     Role
	Message  *Message // nil for acknowledgements of several, and what belongs to none
	Again    bool     // a request, a response or a message of the CM that was sent before with the same number, seen here then or lost before it came here
	Meaning  string   // one line: what the packet does in its conversation
	Findings []Finding
}

// PayloadLen is how many bytes of payload the packet has on the wire, without pad; the capture may hold fewer.
func (p *Packet) PayloadLen() int {
	info := p.BTH.Opcode.Info()
	if !info.Payload {
		return 0
	}
	return max(0, p.Len-info.HeaderLen-int(p.BTH.Pad)-bth.ICRCLen)
}

// IP is what stands in the IP header around a packet and is not an address.
type IP struct {
	Version      uint8 // 4 or 6
	TrafficClass uint8 // DSCP, and in its lowest two bits the ECN field (RFC 3168)
	HopLimit     uint8
	ID           uint16 // identification; 0 in IPv6
}

// CE reports whether a switch marked the packet for congestion (RFC 3168).
func (i IP) CE() bool { return i.TrafficClass&3 == 3 }

// ICRC is a packet's invariant CRC and what it should be.
type ICRC struct {
	Verdict    Verdict
	Wire, Want uint32 // as numbers whose least significant byte is sent first; Want is valid unless the packet was cut
}

// Verdict says whether an ICRC is right.
type Verdict uint8

const (
	NotChecked Verdict = iota // the capture does not hold the whole packet, or its IP header is one that RoCEv2 does not have
	Right
	Wrong
	RightAsRxe // of a FLUSH, over the packet as Linux rxe computes it
)

func (v Verdict) String() string {
	return [...]string{"not checked", "right", "wrong", "right as Linux rxe computes it"}[min(v, RightAsRxe)]
}

// Role is what a packet is to its conversation.
type Role uint8

const (
	NoRole   Role = iota
	Request       // SEND, WRITE, READ request, atomic, FLUSH
	Response      // of a READ or an atomic: it carries data
	Ack           // an acknowledgement, a NAK or an RNR NAK
	Datagram      // of an unreliable service: nobody answers
	CM            // a message of the connection manager
	CNP           // a congestion notification
)

func (r Role) String() string {
	return [...]string{"", "request", "response", "ack", "datagram", "cm", "cnp"}[min(r, CNP)]
}
