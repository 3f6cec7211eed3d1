package fabric

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// PortUET is the UDP destination port of Ultra Ethernet Transport (IANA).
const PortUET = 4793

// UET holds fields of the packet delivery sublayer (PDS) header of Ultra Ethernet Transport (Ultra
// Ethernet specification 1.0, PDS header formats). Encrypted packets have only Type TSS.
type UET struct {
	Type UETType
	// Next is the type of the next header; in a control packet (UETControl), the kind of control
	// packet.
	Next  uint8
	Flags uint8 // 7 bits; their meaning depends on Type
	// PSN is the packet sequence number, in an ACK the cumulative acknowledgement, in a RUDI packet
	// the packet ID. HasPSN is not set if the packet has none or it was not captured.
	PSN    uint32
	HasPSN bool
	// SPDCID and DPDCID are the packet delivery contexts of sender and receiver, if HasPDC is set.
	// A request with SYN has no DPDCID.
	SPDCID, DPDCID uint16
	HasPDC         bool
	Retransmission bool
	AckReq, SYN    bool // of requests and control packets
	Len            int  // bytes of the packet after the UDP header, on the wire
}

// UETType is the type of a PDS header.
type UETType uint8

const (
	UETReserved UETType = iota
	UETSecure           // TSS: encrypted
	UETRUD              // RUD_REQ: reliable unordered delivery
	UETROD              // ROD_REQ: reliable ordered delivery
	UETRUDI             // RUDI_REQ: reliable unordered delivery for idempotent operations
	UETRUDIResponse
	UETUUD // UUD_REQ: unreliable unordered delivery
	UETAck
	UETAckCC
	UETAckCCX
	UETNack
	UETControl
	UETNackCCX
	UETRUDCC
	UETRODCC

	numUETTypes = int(iota)
)

var uetNames = [numUETTypes]string{"reserved", "TSS", "RUD_REQ", "ROD_REQ", "RUDI_REQ", "RUDI_RESP", "UUD_REQ", "ACK",
	"ACK_CC", "ACK_CCX", "NACK", "CP", "NACK_CCX", "RUD_CC_REQ", "ROD_CC_REQ"}

// String returns the name in the specification, such as "RUD_REQ".
func (t UETType) String() string {
	if int(t) < numUETTypes {
		return uetNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// uetControls are the kinds of control packets.
var uetControls = [...]string{"NOOP", "ACK request", "clear command", "clear request", "close command",
	"close request", "probe", "credit", "credit request", "negotiation"}

const (
	uetPrologue = 2
	uetHeader   = 12 // prologue, offset, PSN, SPDCID, DPDCID
	uetIDHeader = 8  // prologue, reserved, packet ID

	uetRetransmission = 0x10
	uetAckReq         = 0x08
	uetSYN            = 0x04
)

// Parse parses the PDS header in b, the captured part of n bytes. It reports whether b has a valid
// type.
func (u *UET) Parse(b []byte, n int) bool {
	if len(b) < uetPrologue {
		return false
	}
	be := binary.BigEndian
	v := be.Uint16(b)
	*u = UET{Type: UETType(v >> 11), Next: uint8(v >> 7 & 15), Flags: uint8(v & 0x7f), Len: n}
	if u.Type == UETReserved || int(u.Type) >= numUETTypes {
		return false
	}
	switch u.Type {
	case UETSecure, UETUUD:
	case UETRUDI, UETRUDIResponse:
		u.Retransmission = u.Flags&uetRetransmission != 0
		if len(b) >= uetIDHeader {
			u.PSN, u.HasPSN = be.Uint32(b[4:]), true
		}
	default:
		u.Retransmission = u.Flags&uetRetransmission != 0
		switch u.Type {
		case UETRUD, UETROD, UETRUDCC, UETRODCC, UETControl:
			u.AckReq, u.SYN = u.Flags&uetAckReq != 0, u.Flags&uetSYN != 0
		}
		if len(b) >= uetHeader {
			u.PSN, u.HasPSN = be.Uint32(b[4:]), true
			u.SPDCID, u.DPDCID, u.HasPDC = be.Uint16(b[8:]), be.Uint16(b[10:]), true
		}
	}
	return true
}

// String describes the packet in one line.
func (u *UET) String() string {
	var b strings.Builder
	b.WriteString("Ultra Ethernet " + u.Type.String())
	if u.Type == UETControl {
		b.WriteString(" " + oneOf(u.Next, uetControls[:]))
	}
	if u.HasPSN {
		switch u.Type {
		case UETAck, UETAckCC, UETAckCCX:
			fmt.Fprintf(&b, " up to PSN %d", u.PSN)
		case UETRUDI, UETRUDIResponse:
			fmt.Fprintf(&b, " packet %d", u.PSN)
		default:
			fmt.Fprintf(&b, " PSN %d", u.PSN)
		}
	}
	if u.HasPDC {
		fmt.Fprintf(&b, ", PDC %d", u.SPDCID)
		if !u.SYN {
			fmt.Fprintf(&b, " to %d", u.DPDCID)
		}
	}
	for _, f := range []struct {
		set  bool
		text string
	}{{u.SYN, ", SYN"}, {u.AckReq, ", ACK requested"}, {u.Retransmission, ", retransmission"}} {
		if f.set {
			b.WriteString(f.text)
		}
	}
	fmt.Fprintf(&b, ", %d bytes", u.Len)
	return b.String()
}

func oneOf(v uint8, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("type %d", v)
}

// Fields returns the header fields.
func (u *UET) Fields() []Field {
	const header = "PDS"
	out := []Field{{header, "Type", fmt.Sprintf("%d %s", uint8(u.Type), u.Type)}}
	next := "Next Header"
	if u.Type == UETControl {
		next = "Control Type"
	}
	out = append(out, Field{header, next, fmt.Sprint(u.Next)},
		Field{header, "Flags", fmt.Sprintf("0x%02x", u.Flags)})
	if u.HasPSN {
		out = append(out, Field{header, "PSN", fmt.Sprint(u.PSN)})
	}
	if u.HasPDC {
		out = append(out, Field{header, "SPDCID", fmt.Sprint(u.SPDCID)})
		if !u.SYN {
			out = append(out, Field{header, "DPDCID", fmt.Sprint(u.DPDCID)})
		}
	}
	return out
}
