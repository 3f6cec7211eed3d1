package json

import "github.com/gorxe/gorxe/bth"

// headers are the BTH and the extension headers. They are members of the packet object.
type headers struct {
	BTH       *bthObject `json:"bth,omitempty"`
	DETH      *deth      `json:"deth,omitempty"`
	FETH      *feth      `json:"feth,omitempty"`
	RETH      *reth      `json:"reth,omitempty"`
	AtomicETH *atomicETH `json:"atomic_eth,omitempty"`
	AETH      *aeth      `json:"aeth,omitempty"`
	AtomicAck *atomicAck `json:"atomic_ack_eth,omitempty"`
	ImmDt     *hex32     `json:"immdt,omitempty"`
	IETH      *ieth      `json:"ieth,omitempty"`
}

type bthObject struct {
	Opcode uint8   `json:"opcode"`
	Name   string  `json:"name"`
	SE     bool    `json:"se"`
	MigReq bool    `json:"migreq"`
	PadCnt uint8   `json:"pad_cnt"`
	TVer   uint8   `json:"tver"`
	PKey   uint16  `json:"pkey"`
	FECN   bool    `json:"fecn"`
	BECN   bool    `json:"becn"`
	DestQP bth.QPN `json:"dest_qp"`
	AckReq bool    `json:"ackreq"`
	PSN    bth.PSN `json:"psn"`
}

type deth struct {
	QKey  hex32   `json:"qkey"`
	SrcQP bth.QPN `json:"src_qp"`
}

type feth struct {
	PLT uint8 `json:"plt"`
	SEL uint8 `json:"sel"`
}

type reth struct {
	VA     hex64  `json:"va"`
	RKey   hex32  `json:"rkey"`
	DMALen uint32 `json:"dmalen"`
}

type atomicETH struct {
	VA      hex64  `json:"va"`
	RKey    hex32  `json:"rkey"`
	SwapAdd hex64  `json:"swap_add"`
	Compare *hex64 `json:"compare,omitempty"` // only for compare-and-swap
}

type aeth struct {
	Syndrome uint8  `json:"syndrome"`
	Text     string `json:"text"`
	MSN      uint32 `json:"msn"`
	// RNRDelay is the time that the requester must wait, in nanoseconds.
	RNRDelay int64 `json:"rnr_delay_ns,omitempty"`
}

type atomicAck struct {
	Original hex64 `json:"original"`
}

type ieth struct {
	RKey hex32 `json:"rkey"`
}

// headersOf returns all headers of p if whole is set, otherwise only the BTH.
func headersOf(p *bth.Packet, whole bool) *headers {
	o := &headers{BTH: &bthObject{
		Opcode: uint8(p.Opcode), Name: p.Opcode.String(),
		SE: p.Solicited, MigReq: p.MigReq, PadCnt: p.Pad, TVer: p.Version, PKey: p.PKey,
		FECN: p.FECN, BECN: p.BECN, DestQP: p.DestQP, AckReq: p.AckReq, PSN: p.PSN,
	}}
	if !whole {
		return o
	}
	has := func(h bth.Headers) bool { return p.Opcode.Info().Headers&h != 0 }
	if has(bth.HasDETH) {
		o.DETH = &deth{hex32(p.DETH.QKey), p.DETH.SrcQP}
	}
	if has(bth.HasFETH) {
		o.FETH = &feth{p.FETH.Type, p.FETH.Level}
	}
	if has(bth.HasRETH) {
		o.RETH = &reth{hex64(p.RETH.VA), hex32(p.RETH.RKey), p.RETH.DMALen}
	}
	if has(bth.HasAtomicETH) {
		a := &p.AtomicETH
		o.AtomicETH = &atomicETH{VA: hex64(a.VA), RKey: hex32(a.RKey), SwapAdd: hex64(a.SwapAdd)}
		if p.Opcode.Info().Op == bth.OpCmpSwap {
			o.AtomicETH.Compare = new(hex64(a.Compare))
		}
	}
	if has(bth.HasAETH) {
		o.AETH = aethOf(p.AETH)
	}
	if has(bth.HasAtomicAckETH) {
		o.AtomicAck = &atomicAck{hex64(p.AtomicAck)}
	}
	if has(bth.HasImmDt) {
		o.ImmDt = new(hex32(p.Imm))
	}
	if has(bth.HasIETH) {
		o.IETH = &ieth{hex32(p.InvalidateRKey)}
	}
	return o
}

func aethOf(a bth.AETH) *aeth {
	o := &aeth{Syndrome: uint8(a.Syndrome), Text: a.Syndrome.String(), MSN: a.MSN}
	if a.Syndrome.IsRNR() {
		o.RNRDelay = bth.RNRDelay(a.Syndrome.RNRTimer())
	}
	return o
}
