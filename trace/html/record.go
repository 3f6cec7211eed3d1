package html

import (
	"net/netip"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

// packet is a packet as the page's script reads it. Shared values are indexes into tables. The
// JSON names are short because there are thousands of packets.
type packet struct {
	Frame    int       `json:"n"`
	Part     []int     `json:"pt,omitempty"` // part, parts
	Time     int64     `json:"t"`            // nanoseconds after the first packet
	Dir      string    `json:"d,omitempty"`
	Src      int       `json:"s"` // index in addrs
	Dst      int       `json:"e"`
	IP       [4]int    `json:"ip"` // version, traffic class, hop limit, identification
	Len      int       `json:"l"`
	Captured int       `json:"cl,omitempty"` // captured bytes, if less than Len
	Payload  int       `json:"pl,omitempty"` // bytes
	BTH      []int     `json:"b,omitempty"`  // index in opcodes, flags, pad, version, P_Key, QPN, PSN
	Headers  []group   `json:"h,omitempty"`  // except IP, UDP, BTH and MAD
	ICRC     []string  `json:"c,omitempty"`  // verdict, wire value, expected value; in wire byte order
	Err      string    `json:"x,omitempty"`
	Doubt    bool      `json:"u,omitempty"`  // may not be RoCEv2
	Label    string    `json:"lb,omitempty"` // arrow label, if the opcode is not enough
	Flow     int       `json:"f"`            // index in flows; -1: none
	From     int       `json:"w,omitempty"`  // index in Flow.Ends of the sender
	Role     string    `json:"r,omitempty"`
	Message  int       `json:"m"` // index in messages; -1: none
	Again    bool      `json:"a,omitempty"`
	Meaning  string    `json:"g,omitempty"`
	Findings []finding `json:"q,omitempty"`
	Lessons  []int     `json:"le,omitempty"` // indexes in lessons
	Fabric   string    `json:"fb,omitempty"` // if it is not RoCEv2
	LeftOut  int       `json:"o,omitempty"`  // number of packets left out before it
	OfFlow   int       `json:"fo,omitempty"` // number of those in the same flow
}

// BTH flags, in wire order.
const (
	flagSE = 1 << iota
	flagMigReq
	flagFECN
	flagBECN
	flagAckReq
)

type finding struct {
	Kind   trace.Kind `json:"k"`
	Level  int        `json:"l"`
	Text   string     `json:"t"`
	Frames []int      `json:"f,omitempty"`
	PSNs   []int      `json:"p,omitempty"` // first PSN and number of PSNs that are missing
}

// record returns packet i of the page, and adds its shared values to the tables.
func (p *Page) record(t *tables, i int) packet {
	e := p.kept.list[i]
	k := p.restore(e)
	r := packet{
		Frame: k.Number, Time: k.Time.Sub(p.begin).Nanoseconds(), Dir: k.Direction.String(), LeftOut: e.seq,
		Src: t.addrs.of(endText(k.Src)), Dst: t.addrs.of(endText(k.Dst)),
		IP:  [4]int{int(k.IP.Version), int(k.IP.TrafficClass), int(k.IP.HopLimit), int(k.IP.ID)},
		Len: k.Len, Label: label(k), Flow: -1, From: from(k), Role: k.Role.String(), Message: -1,
		Again: k.Again, Meaning: k.Meaning, Doubt: k.Doubtful, Lessons: e.lessons,
	}
	if i > 0 {
		r.LeftOut -= p.kept.list[i-1].seq + 1
	}
	if e.captured < k.Len {
		r.Captured = e.captured
	}
	if k.Parts > 1 {
		r.Part = []int{k.Part, k.Parts}
	}
	if k.Err != nil {
		r.Err = k.Err.Error()
	}
	if k.Err == nil || e.captured >= bth.BTHLen {
		b := &k.BTH
		r.BTH = []int{
			t.opcodes.of(uint8(b.Opcode)),
			flag(b.Solicited, flagSE) | flag(b.MigReq, flagMigReq) | flag(b.FECN, flagFECN) | flag(b.BECN,
				flagBECN) | flag(b.AckReq, flagAckReq),
			int(b.Pad), int(b.Version), int(b.PKey), int(b.DestQP), int(b.PSN),
		}
	}
	if k.Err == nil {
		r.Payload = k.PayloadLen()
	}
	if r.Headers = e.headers; r.Headers == nil {
		r.Headers = headers(k)
	}
	if k.Fabric != fabric.RoCEv2 {
		r.Fabric = k.Fabric.String()
	}
	r.ICRC = []string{k.ICRC.Verdict.String()}
	if k.ICRC.Verdict != trace.NotChecked {
		r.ICRC = append(r.ICRC, sentBytes(k.ICRC.Wire), sentBytes(k.ICRC.Want))
	}
	if k.Flow != nil {
		r.Flow = t.flows.of(k.Flow.Current())
		r.OfFlow = max(0, e.nth-t.nth[k.Flow]-1)
		t.nth[k.Flow] = e.nth
	}
	if k.Message != nil {
		r.Message = t.messages.of(k.Message)
	}
	for _, f := range k.Findings {
		o := finding{f.Kind, int(min(f.Level, trace.Error)), f.Text, f.Frames, nil}
		if f.PSNs > 0 {
			o.PSNs = []int{int(f.PSN), f.PSNs}
		}
		r.Findings = append(r.Findings, o)
	}
	return r
}

func flag(set bool, f int) int {
	if set {
		return f
	}
	return 0
}

// label returns the arrow label of a packet whose opcode is not enough.
func label(k *trace.Packet) string {
	switch {
	case k.MAD != nil:
		return "CM " + k.MAD.Attribute.String()
	case k.Err != nil:
		return "cannot be decoded"
	case k.BTH.Opcode.Info().Op == bth.OpAck:
		return k.BTH.AETH.Syndrome.String()
	}
	return ""
}

// short returns the arrow label of an opcode, without the service, which belongs to the flow.
func short(o bth.Opcode) string {
	name := o.String()
	if s := o.Info().Service; o.Valid() && s != bth.ServiceCNP {
		name = strings.TrimPrefix(name, s.String()+"_")
	}
	return shorter.Replace(name)
}

var shorter = strings.NewReplacer(
	"RDMA_", "",
	"_WITH_IMMEDIATE", " + IMM",
	"_WITH_INVALIDATE", " + INV",
	"ACKNOWLEDGE", "ACK",
	"COMPARE_SWAP", "CMP & SWAP",
	"FETCH_ADD", "FETCH & ADD",
	"_", " ",
)

// from returns the index in Ends of the end that sent k, of the flow that k's flow was merged into.
// Addresses alone do not tell if both ends have the same address, and packets to queue pair 1 do
// not name the queue pairs of the connection. Without a flow, the end with the lower address is 0.
func from(k *trace.Packet) int {
	if k.Flow == nil {
		return number(k.Src.Addr().Compare(k.Dst.Addr()) > 0)
	}
	ends := k.Flow.Current().Ends
	a, b := ends[0], ends[1]
	switch {
	case a.Addr != b.Addr:
		return number(k.Src.Addr() == b.Addr)
	case k.MAD != nil:
		switch k.MAD.Attribute {
		case mad.AttrREP, mad.AttrDREP, mad.AttrSIDRREP, mad.AttrREJ, mad.AttrMRA, mad.AttrAPR:
			return 1
		}
		return 0
	case k.BTH.Opcode.Info().Service == bth.ServiceUD:
		return number(k.BTH.DETH.SrcQP != a.QPN)
	}
	return number(k.BTH.DestQP == a.QPN && a.QPN != b.QPN)
}

func number(b bool) int { return flag(b, 1) }

// endText returns an end as text: without a port in RoCEv1 and InfiniBand.
func endText(a netip.AddrPort) string {
	if a.Port() == 0 {
		return fabric.AddrText(a.Addr())
	}
	return a.String()
}
