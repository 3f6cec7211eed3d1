package iwarp

import (
	"fmt"

	"github.com/gorxe/gorxe/trace/fabric"
)

// Fields returns the header fields of m; none for kinds without headers.
func (m *Message) Fields() (out []fabric.Field) {
	add := func(header, name, format string, v ...any) {
		out = append(out, fabric.Field{Header: header, Name: name, Value: fmt.Sprintf(format, v...)})
	}
	switch m.Kind {
	case Request, Reply:
		s := &m.Start
		for _, f := range []struct {
			name string
			set  bool
		}{{"Markers (M)", s.Markers}, {"CRC (C)", s.CRC}, {"Rejected (R)", s.Rejected}, {"Enhanced (S)", s.Enhanced}} {
			add("MPA", f.name, "%d", bit(f.set))
		}
		add("MPA", "Revision", "%d", s.Revision)
		add("MPA", "Private Data Length", "%d", s.PrivateLen)
		if s.Enhanced {
			add("MPA", "IRD", "%d", s.IRD)
			add("MPA", "ORD", "%d", s.ORD)
		}
		return out
	case FPDU:
	default:
		return nil
	}
	u := &m.ULPDU
	add("MPA", "ULPDU Length", "%d", m.Len)
	add("DDP", "Tagged (T)", "%d", bit(u.Tagged))
	add("DDP", "Last (L)", "%d", bit(u.Last))
	if u.Tagged {
		add("DDP", "Steering Tag (STag)", "0x%08x", u.STag)
		add("DDP", "Tagged Offset (TO)", "0x%016x", u.Offset)
	} else {
		add("DDP", "Queue Number (QN)", "%d", u.QN)
		add("DDP", "Message Sequence Number (MSN)", "%d", u.MSN)
		add("DDP", "Message Offset (MO)", "%d", u.MO)
	}
	add("RDMAP", "Opcode", "%d %s", uint8(u.Opcode), u.Opcode)
	if u.Opcode == SendInvalidate || u.Opcode == SendSolicitedInvalidate {
		add("RDMAP", "Invalidate STag", "0x%08x", u.InvalidateSTag)
	}
	if u.HasDetails {
		rdmapFields(u, add)
	}
	add("RDMAP", "Payload", "%d bytes", u.Payload)
	add("MPA", "CRC", "%s", m.CRC)
	return out
}

// rdmapFields adds the fields of the header after the DDP header.
func rdmapFields(u *ULPDU, add func(header, name, format string, v ...any)) {
	switch u.Opcode {
	case ReadRequest:
		add("RDMAP", "Data Sink STag", "0x%08x", u.Read.SinkSTag)
		add("RDMAP", "Data Sink Tagged Offset", "0x%016x", u.Read.SinkOffset)
		add("RDMAP", "RDMA Read Message Size", "%d", u.Read.Size)
		add("RDMAP", "Data Source STag", "0x%08x", u.Read.SourceSTag)
		add("RDMAP", "Data Source Tagged Offset", "0x%016x", u.Read.SourceOffset)
	case Terminate:
		add("RDMAP", "Layer", "%d", u.Term.Layer)
		add("RDMAP", "Error Type", "%d", u.Term.Type)
		add("RDMAP", "Error Code", "0x%02x", u.Term.Code)
	case AtomicRequest:
		add("RDMAP", "Atomic Operation Code", "%d", u.Atomic.Op)
		add("RDMAP", "Request Identifier", "%d", u.Atomic.ID)
		add("RDMAP", "Remote STag", "0x%08x", u.Atomic.STag)
		add("RDMAP", "Remote Tagged Offset", "0x%016x", u.Atomic.Offset)
		add("RDMAP", "Add or Swap Data", "0x%016x", u.Atomic.SwapAdd)
		add("RDMAP", "Compare Data", "0x%016x", u.Atomic.Compare)
	case Immediate, ImmediateSolicited:
		add("RDMAP", "Immediate Data", "0x%016x", u.Immediate)
	}
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}
