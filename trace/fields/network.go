package fields

import (
	"math/bits"

	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// network appends the fields before the BTH: encapsulations, IP and UDP; in RoCEv1 and InfiniBand
// LRH and GRH.
func (l *list) network() {
	p := l.p
	for i := range p.Outer {
		l.tunnel(&p.Outer[i])
	}
	if p.LRH != nil {
		l.lrh(p.LRH)
	}
	if p.GRH != nil {
		l.grh(p.GRH)
	}
	if p.Fabric != fabric.RoCEv2 {
		return
	}
	l.header = "IP"
	l.outside("Version", "%d", p.IP.Version)
	l.outside("Source", "%v", p.Src.Addr())
	l.outside("Destination", "%v", p.Dst.Addr())
	l.outside("DSCP", "%d", p.IP.TrafficClass>>2)
	l.outside("ECN", "%d (%s)", p.IP.TrafficClass&3, ecnNames[p.IP.TrafficClass&3])
	l.outside("Hop Limit", "%d", p.IP.HopLimit)
	if p.IP.Version == 4 {
		l.outside("Identification", "0x%04x", p.IP.ID)
	}
	l.header = "UDP"
	l.outside("Source Port", "%d", p.Src.Port())
	l.outside("Destination Port", "%d", p.Dst.Port())
}

// tunnel appends the fields of an encapsulation.
func (l *list) tunnel(t *tunnel.Layer) {
	l.header = t.Kind.String()
	if t.Src.IsValid() {
		l.outside("Outer Source", "%v", t.Src)
		l.outside("Outer Destination", "%v", t.Dst)
	}
	switch t.Kind {
	case tunnel.NVGRE:
		l.outside("Virtual Subnet ID (VSID)", "%d", t.ID)
		l.outside("FlowID", "%d", t.Flow)
	case tunnel.GRE:
		if t.HasID {
			l.outside("Key", "0x%08x", t.ID)
		}
	case tunnel.MPLS:
		for _, v := range t.Labels[:t.NumLabels] {
			l.outside("Label", "%d", v)
		}
	case tunnel.ERSPAN2, tunnel.ERSPAN3:
		l.erspan(t)
	default:
		if t.HasID {
			l.outside("Virtual Network Identifier (VNI)", "%d", t.ID)
		}
	}
	if t.HasSeq {
		l.outside("Sequence Number", "%d", t.Seq)
	}
}

func (l *list) erspan(t *tunnel.Layer) {
	e := &t.ERSPAN
	l.outside("Session ID", "%d", t.ID)
	l.outside("VLAN", "%d", e.VLAN)
	l.outside("COS", "%d", e.COS)
	l.outside("Truncated (T)", "%d", bit(e.Truncated))
	if t.Kind == tunnel.ERSPAN2 {
		l.outside("Index", "%d", e.Index)
		return
	}
	l.outside("Timestamp", "%d", e.Timestamp)
	l.outside("Timestamp Granularity (Gra)", "%d (%s)", e.Granularity, e.Unit())
	l.outside("Hardware ID (Hw ID)", "%d", e.HardwareID)
	l.outside("Direction (D)", "%d (%s)", bit(e.Egress), oneOf(uint8(bit(e.Egress)), "ingress", "egress"))
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}

// lrh appends the fields of a local route header, and the VCRC after the packet.
func (l *list) lrh(h *fabric.LRH) {
	l.header = "LRH"
	l.outside("Virtual Lane (VL)", "%d", h.VL)
	l.outside("Link Version (LVer)", "%d", h.Version)
	l.outside("Service Level (SL)", "%d", h.SL)
	l.outside("Link Next Header (LNH)", "%d", h.Next)
	l.outside("Destination Local Identifier (DLID)", "%d", h.DLID)
	l.outside("Packet Length (PktLen)", "%d words", h.Len/4)
	l.outside("Source Local Identifier (SLID)", "%d", h.SLID)
	switch v := h.VCRC; {
	case !v.Captured:
		l.outside("Variant CRC (VCRC)", "not captured")
	case v.Wrong():
		l.outside("Variant CRC (VCRC)", "0x%04x, wrong: it should be 0x%04x", bits.ReverseBytes16(v.Wire),
			bits.ReverseBytes16(v.Want))
	default:
		l.outside("Variant CRC (VCRC)", "0x%04x, right", bits.ReverseBytes16(v.Wire))
	}
}

// grh appends the fields of a global route header.
func (l *list) grh(h *fabric.GRH) {
	l.header = "GRH"
	l.outside("IP Version (IPVer)", "%d", h.Version)
	l.outside("Traffic Class (TClass)", "%d", h.TrafficClass)
	l.outside("Flow Label (FlowLabel)", "0x%05x", h.FlowLabel)
	l.outside("Payload Length (PayLen)", "%d", h.Len)
	l.outside("Next Header (NxtHdr)", "0x%02x", h.Next)
	l.outside("Hop Limit (HopLmt)", "%d", h.HopLimit)
	l.outside("Source GID (SGID)", "%v", h.SGID)
	l.outside("Destination GID (DGID)", "%v", h.DGID)
}
