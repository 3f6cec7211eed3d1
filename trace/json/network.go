package json

import (
	"math/bits"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// layer is the JSON object of an encapsulation.
type layer struct {
	Kind   string      `json:"kind"`
	Src    string      `json:"src,omitempty"`
	Dst    string      `json:"dst,omitempty"`
	VNI    *uint32     `json:"vni,omitempty"`
	Key    *hex32      `json:"key,omitempty"`
	Labels []uint32    `json:"labels,omitempty"`
	Seq    *uint32     `json:"sequence,omitempty"`
	ERSPAN *erspanData `json:"erspan,omitempty"`
}

type erspanData struct {
	Session   uint32  `json:"session"`
	VLAN      uint16  `json:"vlan"`
	COS       uint8   `json:"cos"`
	Truncated bool    `json:"truncated,omitempty"`
	Index     *uint32 `json:"index,omitempty"`
	Timestamp *uint32 `json:"timestamp,omitempty"`
	// Granularity is the unit of Timestamp: 0 is 100 µs, 1 is 100 ns, 2 is 1 ns.
	Granularity *uint8 `json:"granularity,omitempty"`
	Hardware    *uint8 `json:"hardware,omitempty"`
	Egress      bool   `json:"egress,omitempty"`
}

func layersOf(all []tunnel.Layer) []layer {
	var out []layer
	for i := range all {
		out = append(out, layerOf(&all[i]))
	}
	return out
}

func layerOf(l *tunnel.Layer) layer {
	o := layer{Kind: l.Kind.String(), Labels: l.Labels[:l.NumLabels]}
	if l.Src.IsValid() {
		o.Src, o.Dst = l.Src.String(), l.Dst.String()
	}
	if v, ok := l.VNI(); ok {
		o.VNI = &v
	} else if l.Kind == tunnel.GRE && l.HasID {
		o.Key = new(hex32(l.ID))
	}
	if l.HasSeq {
		o.Seq = &l.Seq
	}
	if l.Kind == tunnel.ERSPAN2 || l.Kind == tunnel.ERSPAN3 {
		e := &l.ERSPAN
		o.ERSPAN = &erspanData{Session: l.ID, VLAN: e.VLAN, COS: e.COS, Truncated: e.Truncated, Egress: e.Egress}
		if l.Kind == tunnel.ERSPAN2 {
			o.ERSPAN.Index = &e.Index
		} else {
			o.ERSPAN.Timestamp, o.ERSPAN.Granularity, o.ERSPAN.Hardware = &e.Timestamp, &e.Granularity, &e.HardwareID
		}
	}
	return o
}

// lrh is the JSON object of a local route header.
type lrh struct {
	VL   uint8  `json:"vl"`
	LVer uint8  `json:"lver"`
	SL   uint8  `json:"sl"`
	LNH  uint8  `json:"lnh"`
	DLID uint16 `json:"dlid"`
	SLID uint16 `json:"slid"`
	Len  int    `json:"len"`
	VCRC vcrc   `json:"vcrc"`
}

// vcrc has the values in wire byte order, as Wireshark shows them.
type vcrc struct {
	Verdict string `json:"verdict"`
	Wire    *hex16 `json:"wire,omitempty"`
	Want    *hex16 `json:"want,omitempty"`
}

// grh is the JSON object of a global route header, with the fields that ip does not have.
type grh struct {
	FlowLabel uint32 `json:"flow_label"`
	PayLen    int    `json:"paylen"`
}

// network sets the members that depend on the fabric, and the encapsulations.
func (o *packet) network(p *trace.Packet) {
	o.Tunnels = layersOf(p.Outer)
	if p.Fabric == fabric.RoCEv2 {
		o.UDP = &udp{p.Src.Port(), p.Dst.Port()}
	} else {
		o.Fabric = p.Fabric.String()
	}
	if g := p.GRH; g != nil {
		o.GRH = &grh{g.FlowLabel, g.Len}
	}
	if l := p.LRH; l != nil {
		o.LRH = &lrh{VL: l.VL, LVer: l.Version, SL: l.SL, LNH: l.Next, DLID: l.DLID, SLID: l.SLID, Len: l.Len,
			VCRC: vcrc{Verdict: verdicts[trace.NotChecked]}}
		if l.VCRC.Captured {
			o.LRH.VCRC.Verdict = verdicts[trace.Right]
			if l.VCRC.Wrong() {
				o.LRH.VCRC.Verdict = verdicts[trace.Wrong]
			}
			o.LRH.VCRC.Wire = new(hex16(bits.ReverseBytes16(l.VCRC.Wire)))
			o.LRH.VCRC.Want = new(hex16(bits.ReverseBytes16(l.VCRC.Want)))
		}
	}
}
