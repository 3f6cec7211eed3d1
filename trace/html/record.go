package html

import (
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

// packet is what the page's script knows of a packet. Numbers of tables take the place of what packets share. The names are short
// because there are thousands of them.
type packet struct {
	Frame    int       `json:"n"`
	Part     []int     `json:"pt,omitempty"` // part, parts
	Time     int64     `json:"t"`            // nanoseconds after the first packet
	Dir      string    `json:"d,omitempty"`
	Src      int       `json:"s"` // in addrs
	Dst      int       `json:"e"`
	IP       [4]int    `json:"ip"` // version, traffic class, hop limit, identification
	Len      int       `json:"l"`
	Captured int       `json:"cl,omitempty"` // of Len, where it is less
	Payload  int       `json:"pl,omitempty"` // bytes
	BTH      []int     `json:"b,omitempty"`  // index in opcodes, flags, pad, version, P_Key, QPN, PSN
	Headers  []group   `json:"h,omitempty"`  // all but the BTH
	ICRC     []string  `json:"c,omitempty"`  // verdict, on the wire, what it should be; as the bytes are sent
	Err      string    `json:"x,omitempty"`
	Doubt    bool      `json:"u,omitempty"`  // it may be no RoCEv2
	Label    string    `json:"lb,omitempty"` // where the opcode's is not enough
	Flow     int       `json:"f"`            // in flows; -1: none
	From     int       `json:"w,omitempty"`  // which end of the flow sent it
	Role     string    `json:"r,omitempty"`
	Message  int       `json:"m"` // in messages; -1: none
	Again    bool      `json:"a,omitempty"`
	Meaning  string    `json:"g,omitempty"`
	Findings []finding `json:"q,omitempty"`
	Lessons  []int     `json:"le,omitempty"` // in lessons
}

// Flags of a BTH, in the order of its bits.
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
}

func (p *Page) record(k *trace.Packet) packet {
	r := packet{
		Frame: k.Number, Time: k.Time.Sub(p.begin).Nanoseconds(), Dir: k.Direction.String(),
		Src: p.addrs.of(k.Src.String()), Dst: p.addrs.of(k.Dst.String()),
		IP:  [4]int{int(k.IP.Version), int(k.IP.TrafficClass), int(k.IP.HopLimit), int(k.IP.ID)},
		Len: k.Len, Label: label(k), Flow: -1, From: from(k), Role: k.Role.String(), Message: -1,
		Again: k.Again, Meaning: k.Meaning, Doubt: k.Doubt,
	}
	if len(k.Bytes) < k.Len {
		r.Captured = len(k.Bytes)
	}
	if k.Parts > 1 {
		r.Part = []int{k.Part, k.Parts}
	}
	if k.Err != nil {
		r.Err = k.Err.Error()
	}
	if k.Err == nil || len(k.Bytes) >= bth.BTHLen {
		b := &k.BTH
		r.BTH = []int{
			p.opcodes.of(uint8(b.Opcode)),
			flag(b.Solicited, flagSE) | flag(b.MigReq, flagMigReq) | flag(b.FECN, flagFECN) | flag(b.BECN, flagBECN) | flag(b.AckReq, flagAckReq),
			int(b.Pad), int(b.Version), int(b.PKey), int(b.DestQP), int(b.PSN),
		}
	}
	if k.Err == nil {
		r.Payload = k.PayloadLen()
	}
	r.Headers = headers(k)
	r.ICRC = []string{k.ICRC.Verdict.String()}
	if k.ICRC.Verdict != trace.NotChecked {
		r.ICRC = append(r.ICRC, sentBytes(k.ICRC.Wire), sentBytes(k.ICRC.Want))
	}
	if k.Flow != nil {
		r.Flow = p.flows.of(k.Flow)
	}
	if k.Message != nil {
		r.Message = p.messages.of(k.Message)
	}
	for _, f := range k.Findings {
		r.Findings = append(r.Findings, finding{f.Kind, int(min(f.Level, trace.Error)), f.Text, append([]int(nil), f.Frames...)})
	}
	for _, l := range p.teacher.Teach(k) {
		r.Lessons = append(r.Lessons, p.lessons.of(l))
	}
	return r
}

func flag(set bool, f int) int {
	if set {
		return f
	}
	return 0
}

// label is what stands at a packet's arrow where its opcode does not say enough.
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

// short is an opcode as it stands at an arrow: without its service, which is the flow's.
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

// from tells which end of its flow sent a packet: 0 or 1. Both ends may have one address, and a packet to queue pair 1 does not name
// the queue pairs that it is about.
func from(k *trace.Packet) int {
	if k.Flow == nil {
		return number(k.Src.Addr().Compare(k.Dst.Addr()) > 0)
	}
	a, b := k.Flow.Ends[0], k.Flow.Ends[1]
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
