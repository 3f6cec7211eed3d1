package trace

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/iwarp"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// Packet is one RoCEv2, RoCEv1 or InfiniBand packet of a capture. The [Decoder] sets the fields
// before Flow, the contents of the packet; the [Analyzer] sets the others, its meaning.
type Packet struct {
	Frame  *capture.Frame // valid as long as Bytes
	Number int            // frame number
	// Part is the index of the packet in its frame, from 1, and Parts the number of packets in
	// the frame. Frames with several packets are the result of segmentation offload.
	Part, Parts int
	Time        time.Time
	Direction   capture.Direction
	Src, Dst    netip.AddrPort
	IP          IP
	Comments    []string // comments of the frame; see [capture.Frame]
	// Outer are the encapsulations of the packet in its frame, outermost first; nil if there are
	// none. Src, Dst and IP are those of the innermost IP header. Valid as long as the Packet.
	Outer []tunnel.Layer

	// Fabric is the network of the packet. In RoCEv1 and InfiniBand, Src and Dst are GIDs with port
	// 0, and IP has the fields of the GRH, with Version 6. Packets of InfiniBand without a GRH have
	// LIDs as addresses, see [fabric.LIDAddr], and a zero IP.
	Fabric fabric.Kind
	GRH    *fabric.GRH // of RoCEv1 and InfiniBand, nil without one; valid as long as the Packet
	LRH    *fabric.LRH // of InfiniBand, nil in others; valid as long as the Packet

	BTH   bth.Packet // Payload is valid as long as Bytes
	Bytes []byte     // captured bytes from BTH to ICRC; valid until the next frame
	Len   int        // length from BTH to ICRC on the wire
	Err   error      // why the packet could not be decoded; BTH then holds the decodable fields
	ICRC  ICRC
	MAD   *mad.Message // CM message, valid as long as the Packet; nil in other packets
	// Doubtful reports whether a datagram to the RoCEv2 port may not be RoCEv2: its ICRC and its
	// headers are invalid.
	Doubtful bool

	// Copy is the number of an earlier frame with the same packet, captured at another point, such
	// as another interface of the host; 0 if there is none. Copies are not analysed.
	Copy int

	Flow     *Flow
	Role     Role
	Message  *Message // nil if the packet belongs to no message, or acknowledges several
	Again    bool     // PSN or CM message that was captured, or noticed as missing, before
	Meaning  string   // one line: what the packet does in its conversation
	Findings []Finding

	// Delivered is the number of payload bytes by which this packet increased Flow.Payload: bytes
	// that arrived in order for the first time.
	Delivered int
	// RTT is the sample that this packet adds to Flow.RTT, 0 if none.
	RTT time.Duration
	// InFlight is the number of PSNs that the requester of this packet's requests has sent and that
	// are not acknowledged after this packet, Outstanding the number of messages. Both are 0 for
	// unreliable services.
	InFlight, Outstanding int
	// Events are what this packet adds to the counters of Flow.
	Events Events
}

// PayloadLen returns the payload length on the wire in bytes, without pad. Fewer may have been
// captured.
func (p *Packet) PayloadLen() int {
	info := p.BTH.Opcode.Info()
	if !info.Payload {
		return 0
	}
	return max(0, p.Len-info.HeaderLen-int(p.BTH.Pad)-bth.ICRCLen)
}

// IP holds the fields of the IP header except the addresses.
type IP struct {
	Version      uint8 // 4 or 6
	TrafficClass uint8 // DSCP, and ECN in the two lowest bits (RFC 3168)
	HopLimit     uint8
	ID           uint16 // 0 in IPv6
}

// CE reports whether a switch marked the packet as Congestion Experienced (RFC 3168).
func (i IP) CE() bool { return i.TrafficClass&3 == 3 }

// ICRC is the invariant CRC of a packet and the result of its check. On the wire, the least
// significant byte is first.
type ICRC struct {
	Verdict    Verdict
	Wire, Want uint32 // value in the packet and right value; both 0 if not captured completely
}

// Verdict is the result of an ICRC check.
type Verdict uint8

const (
	NotChecked Verdict = iota // packet captured incompletely, or IP header without a defined ICRC
	Right
	Wrong
	RightAsRxe // right as Linux rxe computes it for a FLUSH
)

func (v Verdict) String() string {
	return [...]string{"not checked", "right", "wrong", "right as Linux rxe computes it"}[min(v, RightAsRxe)]
}

// Role is the role of a packet in its conversation.
type Role uint8

const (
	NoRole   Role = iota
	Request       // SEND, WRITE, READ request, atomic, FLUSH
	Response      // response of a READ or atomic, with data
	Ack           // ACK, NAK or RNR NAK
	Datagram      // packet of an unreliable service, without response
	CM            // CM message
	CNP           // congestion notification packet
)

func (r Role) String() string {
	return [...]string{"", "request", "response", "ack", "datagram", "cm", "cnp"}[min(r, CNP)]
}

// Foreign is a packet of another fabric protocol, or a pause frame: it has no BTH and belongs to no
// [Flow]. It is valid during the call that passes it.
type Foreign struct {
	Frame     *capture.Frame
	Number    int // frame number
	Time      time.Time
	Direction capture.Direction
	Protocol  fabric.Protocol
	// Src and Dst are the ends; invalid in pause frames, which have MAC addresses only.
	Src, Dst       netip.AddrPort
	SrcMAC, DstMAC [6]byte // in pause frames, zero if the link header has none
	Outer          []tunnel.Layer
	Meaning        string // one line

	// One of these is set, depending on the protocol.
	Pause *Pause
	UET   *fabric.UET
	MPA   *iwarp.Message
}

// Ends returns the ends as text: IP addresses with ports, or MAC addresses.
func (f *Foreign) Ends() (src, dst string) {
	if f.Src.IsValid() {
		return f.Src.String(), f.Dst.String()
	}
	return macText(f.SrcMAC), macText(f.DstMAC)
}

func macText(m [6]byte) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// Fields returns the header fields, in wire order.
func (f *Foreign) Fields() []fabric.Field {
	switch {
	case f.Pause != nil:
		return f.Pause.Fields()
	case f.UET != nil:
		return f.UET.Fields()
	case f.MPA != nil:
		return f.MPA.Fields()
	}
	return nil
}

// Pause is a pause or PFC frame.
type Pause = fabric.Pause
