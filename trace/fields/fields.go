// Package fields lists the header fields of a packet with their IBA names, offsets and values.
package fields

import (
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// Field is a header field, or a part of a packet without a header, such as the payload.
type Field struct {
	Header string // such as "BTH"; encapsulations, IP and UDP are first
	Name   string // name, with the abbreviation in parentheses
	// Offset and Len locate the bytes of the field in the packet, from the start of the BTH. Fields
	// of less than a byte have Len 1 and share the byte with others. Len is 0 if Packet.Bytes does
	// not contain the field: in IP and UDP headers, and if it was not captured.
	Offset, Len int
	Value       string // formatted
}

// Values of Field.Header for parts without a header, and of Field.Name for CM private data.
const (
	Payload     = "Payload" // including the pad
	ICRC        = "ICRC"
	PrivateData = "PrivateData"
)

// Append appends the fields of p to dst, in wire order. For a packet that could not be decoded, it
// appends the fields that can be read nevertheless. Values of payload and CM private data are their
// lengths, not their bytes; if the upper-layer protocol is known, its header fields are listed,
// too, and overlap the payload or private data.
func Append(dst []Field, p *trace.Packet) []Field {
	l := list{dst: dst, p: p}
	l.network()
	if len(p.Bytes) < bth.BTHLen {
		return l.dst
	}
	l.bth()
	info := p.BTH.Opcode.Info()
	if !info.Valid || p.BTH.Version != 0 || len(p.Bytes) < info.HeaderLen {
		return l.dst
	}
	l.extensions(info.Headers)
	l.rest(info)
	return l.dst
}

// list collects the fields.
type list struct {
	dst    []Field
	p      *trace.Packet
	header string
	at     int // offset of the header
}

func (l *list) begin(header string, at int) { l.header, l.at = header, at }

// add appends a field at the given offset in the header.
func (l *list) add(at, n int, name, format string, v ...any) {
	l.dst = append(l.dst, Field{Header: l.header, Name: name, Offset: l.at + at, Len: n,
		Value: fmt.Sprintf(format, v...)})
}

// flag appends a field of one bit.
func (l *list) flag(at int, name string, set bool) {
	v := 0
	if set {
		v = 1
	}
	l.add(at, 1, name, "%d", v)
}

// ecnNames are the ECN code points (RFC 3168).
var ecnNames = [4]string{"not ECN-capable", "ECN-capable, ECT(1)", "ECN-capable, ECT(0)", "congestion experienced"}

// outside appends a field that is outside Packet.Bytes.
func (l *list) outside(name, format string, v ...any) {
	l.dst = append(l.dst, Field{Header: l.header, Name: name, Value: fmt.Sprintf(format, v...)})
}

func (l *list) bth() {
	h := &l.p.BTH
	l.begin("BTH", 0)
	l.add(0, 1, "OpCode", "0x%02x %s", uint8(h.Opcode), h.Opcode)
	l.flag(1, "Solicited Event (SE)", h.Solicited)
	l.flag(1, "MigReq (M)", h.MigReq)
	l.add(1, 1, "Pad Count (PadCnt)", "%d", h.Pad)
	l.add(1, 1, "Transport Header Version (TVer)", "%d", h.Version)
	l.add(2, 2, "Partition Key (P_Key)", "0x%04x", h.PKey)
	l.flag(4, "Forward Explicit Congestion Notification (FECN)", h.FECN)
	l.flag(4, "Backward Explicit Congestion Notification (BECN)", h.BECN)
	l.add(5, 3, "Destination QP (DestQP)", "0x%06x", uint32(h.DestQP))
	l.flag(8, "Acknowledge Request (A)", h.AckReq)
	l.add(9, 3, "Packet Sequence Number (PSN)", "%06x (%d)", uint32(h.PSN), uint32(h.PSN))
}

func (l *list) extensions(h bth.Headers) {
	b := &l.p.BTH
	at := bth.BTHLen
	if h&bth.HasDETH != 0 {
		l.begin("DETH", at)
		l.add(0, 4, "Queue Key (Q_Key)", "0x%08x", b.DETH.QKey)
		l.add(5, 3, "Source QP (SrcQP)", "0x%06x", uint32(b.DETH.SrcQP))
		at += bth.DETHLen
	}
	if h&bth.HasFETH != 0 {
		l.begin("FETH", at)
		l.add(3, 1, "Selectivity Level (SEL)", "%d (%s)", b.FETH.Level, oneOf(b.FETH.Level, "range", "memory region"))
		l.add(3, 1, "Placement Type (PLT)", "%d (%s)", b.FETH.Type, placement(b.FETH.Type))
		at += bth.FETHLen
	}
	if h&bth.HasRETH != 0 {
		l.begin("RETH", at)
		l.add(0, 8, "Virtual Address (VA)", "0x%016x", b.RETH.VA)
		l.add(8, 4, "Remote Key (R_Key)", "0x%08x", b.RETH.RKey)
		l.add(12, 4, "DMA Length (DMALen)", "%d", b.RETH.DMALen)
		at += bth.RETHLen
	}
	if h&bth.HasAtomicETH != 0 {
		l.begin("AtomicETH", at)
		l.add(0, 8, "Virtual Address (VA)", "0x%016x", b.AtomicETH.VA)
		l.add(8, 4, "Remote Key (R_Key)", "0x%08x", b.AtomicETH.RKey)
		l.add(12, 8, "Swap (or Add) Data (SwapDt)", "0x%016x", b.AtomicETH.SwapAdd)
		l.add(20, 8, "Compare Data (CmpDt)", "0x%016x", b.AtomicETH.Compare)
		at += bth.AtomicETHLen
	}
	if h&bth.HasAETH != 0 {
		l.begin("AETH", at)
		l.add(0, 1, "Syndrome", "0x%02x %s", uint8(b.AETH.Syndrome), b.AETH.Syndrome)
		l.add(1, 3, "Message Sequence Number (MSN)", "%d", b.AETH.MSN)
		at += bth.AETHLen
	}
	if h&bth.HasAtomicAckETH != 0 {
		l.begin("AtomicAckETH", at)
		l.add(0, 8, "Original Remote Data (OrigRemDt)", "0x%016x", b.AtomicAck)
		at += bth.AtomicAckETHLen
	}
	if h&bth.HasImmDt != 0 {
		l.begin("ImmDt", at)
		l.add(0, 4, "Immediate Data", "0x%08x", b.Imm)
		at += bth.ImmDtLen
	}
	if h&bth.HasIETH != 0 {
		l.begin("IETH", at)
		l.add(0, 4, "Remote Key to invalidate (R_Key)", "0x%08x", b.InvalidateRKey)
	}
	if h&bth.HasCNP != 0 {
		l.begin("CNP", at)
		l.add(0, bth.CNPReservedLen, "Reserved", "%d bytes", bth.CNPReservedLen)
	}
}

// oneOf returns the name with index v, or "reserved".
func oneOf(v uint8, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "reserved"
}

func placement(t uint8) string {
	return oneOf(t, "none", "global visibility", "persistence", "global visibility and persistence")
}

// rest appends what follows the headers.
func (l *list) rest(info *bth.OpcodeInfo) {
	p := l.p
	payload := max(0, p.Len-info.HeaderLen-int(p.BTH.Pad)-bth.ICRCLen)
	if l.management(info.HeaderLen) {
		payload = 0
	}
	captured := func(at, n int) int { return max(0, min(at+n, len(p.Bytes))-at) }
	l.upper(info.HeaderLen)
	l.begin(Payload, info.HeaderLen)
	if payload > 0 {
		l.add(0, captured(l.at, payload), "Payload", "%s", count(payload))
	}
	if p.BTH.Pad > 0 {
		l.begin(Payload, p.Len-bth.ICRCLen-int(p.BTH.Pad))
		l.add(0, captured(l.at, int(p.BTH.Pad)), "Pad", "%s", count(int(p.BTH.Pad)))
	}
	if p.Len < len(p.Bytes) || p.Len < info.HeaderLen+bth.ICRCLen {
		return
	}
	l.begin(ICRC, p.Len-bth.ICRCLen)
	if len(p.Bytes) < p.Len {
		l.add(0, captured(l.at, bth.ICRCLen), "Invariant CRC (ICRC)", "not captured")
		return
	}
	wire := binary.BigEndian.Uint32(p.Bytes[l.at:])
	switch p.ICRC.Verdict {
	case trace.Wrong:
		l.add(0, bth.ICRCLen, "Invariant CRC (ICRC)", "0x%08x, wrong: it should be 0x%08x", wire, swap(p.ICRC.Want))
	default:
		l.add(0, bth.ICRCLen, "Invariant CRC (ICRC)", "0x%08x, %s", wire, p.ICRC.Verdict)
	}
}

func count(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// swap returns an ICRC in wire byte order.
func swap(v uint32) uint32 {
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], v)
	return binary.BigEndian.Uint32(b[:])
}
