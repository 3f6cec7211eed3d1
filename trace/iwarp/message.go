package iwarp

import (
	"fmt"
	"strings"
)

// Kind is the kind of a Message.
type Kind uint8

const (
	Request  Kind = iota // MPA request frame, which the initiator sends first
	Reply                // MPA reply frame
	FPDU                 // FPDU, or the beginning of one
	Rest                 // segment without the beginning of an FPDU: continues one, or repeats bytes
	Unsynced             // segment in which no FPDU boundary is known, after missing segments
	Markers              // segment of a stream with markers, which are not decoded
)

var kindNames = [...]string{"MPA request", "MPA reply", "FPDU", "rest of an FPDU", "bytes of unknown FPDUs",
	"FPDUs with markers"}

// String returns the name of the kind, such as "MPA request".
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// Message is an MPA start frame, an FPDU, or a segment without the beginning of one.
type Message struct {
	Kind Kind
	// Len is the length on the wire in bytes: of the start frame with private data, of the ULPDU of an
	// FPDU, of the TCP payload otherwise.
	Len   int
	Start Start
	ULPDU ULPDU
	CRC   CRC
}

// Start holds the fields of an MPA request or reply frame (RFC 5044, section 7.1).
type Start struct {
	Markers  bool // M: the sender must receive markers
	CRC      bool // C: the sender wants CRCs
	Rejected bool // R: the connection is rejected; in replies
	// Enhanced is S of RFC 6581: the private data begins with IRD and ORD.
	Enhanced   bool
	Revision   uint8
	PrivateLen int    // bytes of private data on the wire, including IRD and ORD
	IRD, ORD   uint16 // 14 bits each, if Enhanced and captured
}

// CRC is the result of the check of an FPDU's CRC32c.
type CRC uint8

const (
	NotChecked CRC = iota // not in one segment, captured incompletely, or unknown whether used
	Right
	Wrong
	NotUsed // both ends left C clear in their start frames
)

var crcNames = [...]string{"not checked", "right", "wrong", "not used"}

func (c CRC) String() string { return crcNames[min(int(c), len(crcNames)-1)] }

// Opcode is an RDMAP opcode (RFC 5040, section 4.1; RFC 7306, section 4).
type Opcode uint8

const (
	Write Opcode = iota
	ReadRequest
	ReadResponse
	Send
	SendInvalidate
	SendSolicited
	SendSolicitedInvalidate
	Terminate
	Immediate
	ImmediateSolicited
	AtomicRequest
	AtomicResponse

	numOpcodes = int(iota)
)

var opcodeNames = [numOpcodes]string{"RDMA Write", "RDMA Read Request", "RDMA Read Response", "Send",
	"Send with Invalidate", "Send with Solicited Event", "Send with Solicited Event and Invalidate", "Terminate",
	"Immediate Data", "Immediate Data with Solicited Event", "Atomic Request", "Atomic Response"}

// String returns the name in the RFC, such as "RDMA Read Request".
func (o Opcode) String() string {
	if int(o) < numOpcodes {
		return opcodeNames[o]
	}
	return fmt.Sprintf("opcode %d", uint8(o))
}

// tagged reports whether messages with o use the DDP tagged buffer model.
func (o Opcode) tagged() bool { return o == Write || o == ReadResponse }

// ULPDU holds the DDP and RDMAP headers of an FPDU.
type ULPDU struct {
	Tagged bool // T: the header has STag and Offset, else QN, MSN and MO
	Last   bool // L: last segment of the message
	Opcode Opcode
	STag   uint32 // of the sink
	Offset uint64 // tagged offset (TO)
	// InvalidateSTag is the STag to invalidate, of Send with Invalidate.
	InvalidateSTag uint32
	QN, MSN, MO    uint32
	Payload        int // bytes after the headers, on the wire

	Read      Read   // of a Read Request, if HasDetails is set
	Term      Term   // of a Terminate, if HasDetails is set
	Atomic    Atomic // of an Atomic Request, if HasDetails is set
	Immediate uint64 // of Immediate Data, if HasDetails is set
	// HasDetails reports whether the header after DDP's was captured, in the same segment.
	HasDetails bool
}

// Read holds the fields of an RDMA Read Request (RFC 5040, section 4.4).
type Read struct {
	SinkSTag     uint32
	SinkOffset   uint64
	Size         uint32 // bytes
	SourceSTag   uint32
	SourceOffset uint64
}

// Term holds the first fields of a Terminate (RFC 5040, section 4.8).
type Term struct{ Layer, Type, Code uint8 }

// Atomic holds fields of an Atomic Request (RFC 7306, section 5.2.1).
type Atomic struct {
	Op      uint8 // 0 fetch and add, 1 swap, 2 compare and swap
	ID      uint32
	STag    uint32
	Offset  uint64
	SwapAdd uint64
	Compare uint64
}

var atomicNames = [...]string{"FetchAdd", "Swap", "CmpSwap"}

// layerNames are the values of Term.Layer.
var layerNames = [...]string{"RDMAP", "DDP", "MPA"}

func oneOf(v uint8, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return fmt.Sprintf("type %d", v)
}

// String describes the message in one line.
func (m *Message) String() string {
	switch m.Kind {
	case Request, Reply:
		return "iWARP " + m.start()
	case FPDU:
		return "iWARP " + m.ULPDU.String() + m.crc()
	}
	return fmt.Sprintf("iWARP %s, %d bytes", m.Kind, m.Len)
}

func (m *Message) start() string {
	s := &m.Start
	text := fmt.Sprintf("%s revision %d", m.Kind, s.Revision)
	if s.Rejected {
		text += ", rejected"
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{s.Markers, ", markers"}, {s.CRC, ", CRC"}} {
		if f.set {
			text += f.name
		}
	}
	if s.Enhanced {
		text += fmt.Sprintf(", IRD %d, ORD %d", s.IRD, s.ORD)
	}
	return text + fmt.Sprintf(", %d bytes of private data", s.PrivateLen)
}

func (m *Message) crc() string {
	if m.CRC == Wrong {
		return ", wrong CRC"
	}
	return ""
}

// String describes the headers in one line.
func (u *ULPDU) String() string {
	var b strings.Builder
	b.WriteString(u.Opcode.String())
	if u.Tagged {
		fmt.Fprintf(&b, " STag 0x%08x offset 0x%x", u.STag, u.Offset)
	} else {
		fmt.Fprintf(&b, " MSN %d", u.MSN)
		if u.MO > 0 {
			fmt.Fprintf(&b, " offset %d", u.MO)
		}
	}
	switch {
	case u.Opcode == SendInvalidate || u.Opcode == SendSolicitedInvalidate:
		fmt.Fprintf(&b, " STag 0x%08x", u.InvalidateSTag)
	case !u.HasDetails:
	case u.Opcode == ReadRequest:
		r := &u.Read
		fmt.Fprintf(&b, " %d bytes from STag 0x%08x offset 0x%x to STag 0x%08x offset 0x%x", r.Size, r.SourceSTag,
			r.SourceOffset, r.SinkSTag, r.SinkOffset)
		return b.String()
	case u.Opcode == Terminate:
		fmt.Fprintf(&b, " %s error, type %d, code 0x%02x", oneOf(u.Term.Layer, layerNames[:]), u.Term.Type, u.Term.Code)
		return b.String()
	case u.Opcode == AtomicRequest:
		fmt.Fprintf(&b, " %s STag 0x%08x offset 0x%x", oneOf(u.Atomic.Op, atomicNames[:]), u.Atomic.STag, u.Atomic.Offset)
		return b.String()
	}
	fmt.Fprintf(&b, ", %d bytes", u.Payload)
	if u.Last {
		b.WriteString(", last")
	}
	return b.String()
}
