package json

import (
	"math/bits"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

// packet is the JSON object of a [trace.Packet].
type packet struct {
	Type      string     `json:"type"`
	Frame     int        `json:"frame"`
	Part      int        `json:"part,omitempty"`
	Parts     int        `json:"parts,omitempty"`
	CopyOf    int        `json:"copy_of,omitempty"`
	Time      *time.Time `json:"time,omitempty"`
	Direction string     `json:"direction,omitempty"`
	IP        ip         `json:"ip"`
	UDP       *udp       `json:"udp,omitempty"`
	Fabric    string     `json:"fabric,omitempty"`
	Tunnels   []layer    `json:"tunnels,omitempty"`
	LRH       *lrh       `json:"lrh,omitempty"`
	GRH       *grh       `json:"grh,omitempty"`
	Len       int        `json:"len"`
	Captured  *int       `json:"captured,omitempty"`
	Error     string     `json:"error,omitempty"`
	Doubt     bool       `json:"doubt,omitempty"`

	*headers
	PayloadLen int        `json:"payload_len"`
	Payload    hexBytes   `json:"payload,omitempty"`
	ICRC       icrc       `json:"icrc"`
	CM         *cmMessage `json:"cm,omitempty"`

	Flow     int       `json:"flow,omitempty"`
	Role     string    `json:"role,omitempty"`
	Message  int       `json:"message,omitempty"`
	Again    bool      `json:"again,omitempty"`
	Meaning  string    `json:"meaning,omitempty"`
	Findings []finding `json:"findings,omitempty"`
}

type ip struct {
	Version      uint8  `json:"version"`
	Src          string `json:"src"`
	Dst          string `json:"dst"`
	TrafficClass uint8  `json:"traffic_class"`
	CE           bool   `json:"ce,omitempty"`
	HopLimit     uint8  `json:"hop_limit"`
	ID           uint16 `json:"id,omitempty"`
}

type udp struct {
	SrcPort uint16 `json:"src_port"`
	DstPort uint16 `json:"dst_port"`
}

// icrc has the values in wire byte order, as Wireshark shows them.
type icrc struct {
	Verdict string `json:"verdict"`
	Wire    *hex32 `json:"wire,omitempty"`
	Want    *hex32 `json:"want,omitempty"`
}

type finding struct {
	Kind   trace.Kind `json:"kind"`
	Level  string     `json:"level"`
	Text   string     `json:"text"`
	Frames []int      `json:"frames,omitempty"`
}

// packetOf returns the JSON object of p, with payload and private data only if payload is set.
func packetOf(p *trace.Packet, payload bool) *packet {
	o := &packet{
		Type: "packet", Frame: p.Number, Time: instant(p.Time), Direction: p.Direction.String(), Len: p.Len,
		Doubt: p.Doubtful, CopyOf: p.Copy,
		IP: ip{
			Version: p.IP.Version, Src: fabric.AddrText(p.Src.Addr()), Dst: fabric.AddrText(p.Dst.Addr()),
			TrafficClass: p.IP.TrafficClass, CE: p.IP.CE(), HopLimit: p.IP.HopLimit, ID: p.IP.ID,
		},
		ICRC: icrcOf(p.ICRC),
		Role: p.Role.String(), Again: p.Again, Meaning: p.Meaning,
	}
	o.network(p)
	if p.Parts > 1 {
		o.Part, o.Parts = p.Part, p.Parts
	}
	if len(p.Bytes) < p.Len {
		o.Captured = new(len(p.Bytes))
	}
	if p.Err != nil {
		o.Error = p.Err.Error()
	}
	if readable(p) {
		o.headers = headersOf(&p.BTH, p.Err == nil)
	}
	if p.Err == nil {
		o.PayloadLen = p.PayloadLen()
		if payload && p.MAD == nil {
			o.Payload = p.BTH.Payload
		}
	}
	if p.MAD != nil {
		o.CM = madOf(p.MAD, payload)
	}
	if p.Flow != nil {
		o.Flow = p.Flow.Number
	}
	if p.Message != nil {
		o.Message = p.Message.Number
	}
	for _, f := range p.Findings {
		o.Findings = append(o.Findings, finding{f.Kind, f.Level.String(), f.Text, f.Frames})
	}
	return o
}

// readable reports whether at least the BTH was captured.
func readable(p *trace.Packet) bool { return p.Err == nil || len(p.Bytes) >= bth.BTHLen }

func icrcOf(c trace.ICRC) icrc {
	o := icrc{Verdict: verdicts[min(c.Verdict, trace.RightAsRxe)]}
	if c.Verdict != trace.NotChecked {
		o.Wire, o.Want = new(hex32(bits.ReverseBytes32(c.Wire))), new(hex32(bits.ReverseBytes32(c.Want)))
	}
	return o
}

var verdicts = [...]string{
	trace.NotChecked: "not_checked",
	trace.Right:      "right",
	trace.Wrong:      "wrong",
	trace.RightAsRxe: "right_as_rxe",
}
