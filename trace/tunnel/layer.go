package tunnel

import (
	"fmt"
	"net/netip"
)

// Kind is the kind of an encapsulation.
type Kind uint8

const (
	None     Kind = iota
	VXLAN         // RFC 7348, UDP port 4789, or 8472, which Linux used before the RFC
	VXLANGPE      // draft-ietf-nvo3-vxlan-gpe, UDP port 4790
	Geneve        // RFC 8926, UDP port 6081
	GRE           // RFC 2784 and RFC 2890
	NVGRE         // RFC 7637: GRE with a key and an Ethernet frame
	ERSPAN1       // ERSPAN type I: GRE with protocol 0x88be without sequence number, no ERSPAN header
	ERSPAN2       // ERSPAN type II: draft-foschiano-erspan, section 4.2
	ERSPAN3       // ERSPAN type III: draft-foschiano-erspan, section 4.3
	MPLS          // RFC 3032, also in UDP (RFC 7510, port 6635) and in GRE (RFC 4023)
	IPinIP        // RFC 2003, RFC 2473, RFC 4213: IPv4 or IPv6 in IPv4 or IPv6

	numKinds = int(iota)
)

var kindNames = [numKinds]string{"none", "VXLAN", "VXLAN-GPE", "Geneve", "GRE", "NVGRE", "ERSPAN I", "ERSPAN II",
	"ERSPAN III", "MPLS", "IP-in-IP"}

// String returns the name of the kind, such as "ERSPAN II".
func (k Kind) String() string {
	if int(k) < numKinds {
		return kindNames[k]
	}
	return "unknown"
}

// Kinds returns all kinds except None.
func Kinds() []Kind {
	all := make([]Kind, 0, numKinds-1)
	for k := VXLAN; int(k) < numKinds; k++ {
		all = append(all, k)
	}
	return all
}

// MaxLabels is the number of MPLS labels that a Layer holds; deeper ones are skipped.
const MaxLabels = 8

// Layer is one encapsulation of a frame.
type Layer struct {
	Kind     Kind
	Src, Dst netip.Addr // addresses of the outer IP header; invalid for MPLS in an Ethernet frame
	// ID identifies the virtual network or the session, if HasID is set: the VNI of VXLAN and Geneve
	// (24 bits), the VSID of NVGRE (24 bits), the key of GRE (32 bits), the session of ERSPAN II and
	// III (10 bits), the bottom label of MPLS (20 bits).
	ID    uint32
	HasID bool
	Flow  uint8 // FlowID of NVGRE
	// Seq is the sequence number of GRE and ERSPAN, if HasSeq is set.
	Seq    uint32
	HasSeq bool

	// Labels are the first NumLabels labels of MPLS, from the top of the stack.
	Labels    [MaxLabels]uint32
	NumLabels int

	ERSPAN ERSPAN // for ERSPAN2 and ERSPAN3
}

// ERSPAN holds the fields of an ERSPAN header (draft-foschiano-erspan).
type ERSPAN struct {
	VLAN      uint16 // VLAN of the mirrored frame
	COS       uint8  // class of service of the mirrored frame
	Truncated bool   // T: the mirroring switch truncated the frame
	Index     uint32 // type II: 20 bits, meaning depends on the switch
	Timestamp uint32 // type III: time of the frame in units of Granularity
	// Granularity is Gra of type III: 0 is 100 µs, 1 is 100 ns, 2 is 1 ns (IEEE 1588), 3 is defined
	// by the switch.
	Granularity uint8
	HardwareID  uint8 // type III: engine of the switch
	Egress      bool  // type III, D: the frame was mirrored at egress
}

// Unit returns the unit of Timestamp, such as "100 ns".
func (e *ERSPAN) Unit() string { return granularities[e.Granularity&3] }

var granularities = [4]string{"100 µs", "100 ns", "1 ns", "switch-defined units"}

// Mirror reports whether l carries copies of frames, which may be truncated.
func (l *Layer) Mirror() bool { return l.Kind >= ERSPAN1 && l.Kind <= ERSPAN3 }

// VNI returns the identifier of the virtual network: VNI of VXLAN and Geneve, VSID of NVGRE.
func (l *Layer) VNI() (vni uint32, ok bool) {
	switch l.Kind {
	case VXLAN, VXLANGPE, Geneve, NVGRE:
		return l.ID, l.HasID
	}
	return 0, false
}

// String returns the kind, the addresses and the identifiers in one line, such as
// "VXLAN VNI 100, 10.0.0.1 → 10.0.0.2".
func (l *Layer) String() string {
	s := l.Kind.String()
	switch l.Kind {
	case MPLS:
		s += " label"
		for i, v := range l.Labels[:l.NumLabels] {
			if i > 0 {
				s += ","
			}
			s += fmt.Sprintf(" %d", v)
		}
	case NVGRE:
		s += fmt.Sprintf(" VSID %d flow %d", l.ID, l.Flow)
	case GRE:
		if l.HasID {
			s += fmt.Sprintf(" key 0x%08x", l.ID)
		}
	case ERSPAN1, ERSPAN2, ERSPAN3:
		s += l.erspan()
	default:
		if l.HasID {
			s += fmt.Sprintf(" VNI %d", l.ID)
		}
	}
	if l.HasSeq {
		s += fmt.Sprintf(" sequence %d", l.Seq)
	}
	if l.Src.IsValid() {
		s += fmt.Sprintf(", %s → %s", l.Src, l.Dst)
	}
	return s
}

func (l *Layer) erspan() (s string) {
	e := &l.ERSPAN
	if l.HasID {
		s = fmt.Sprintf(" session %d VLAN %d COS %d", l.ID, e.VLAN, e.COS)
	}
	if l.Kind == ERSPAN2 {
		s += fmt.Sprintf(" index %d", e.Index)
	}
	if l.Kind == ERSPAN3 {
		s += fmt.Sprintf(" timestamp %d (%s) hardware %d", e.Timestamp, e.Unit(), e.HardwareID)
		if e.Egress {
			s += " egress"
		} else {
			s += " ingress"
		}
	}
	if e.Truncated {
		s += " truncated"
	}
	return s
}
