package transport

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/bth"
)

var syndromes = map[string]bth.Syndrome{
	"ack": bth.AckUnlimited, "seq": bth.NakPSNSequence, "inv": bth.NakInvalidRequest,
	"acc": bth.NakRemoteAccess, "op": bth.NakRemoteOperational, "rd": bth.NakInvalidRD, "rsvd": 0x6a, "odd": 0x9f,
}

// parse builds the packet that a < step describes.
func (s *script) parse(words []string) *bth.Packet {
	p := &bth.Packet{PKey: 0xffff, DestQP: 0x11, MigReq: true}
	for op := range bth.Opcodes() {
		if op.String() == "RC_"+words[0] || op.String() == words[0] {
			p.Opcode = op
		}
	}
	if p.Opcode == 0 && words[0] != "SEND_FIRST" {
		s.fatalf("unknown opcode %s", words[0])
	}
	f := fields(words[1:])
	p.PSN = bth.PSN(f.num("psn"))
	p.Payload = make([]byte, f.num("len"))
	p.AckReq = f.has("ack")
	p.Solicited = f.has("se")
	p.Imm = uint32(f.num("imm"))
	p.DETH = datagramDETH(f)
	if f.has("rxe") {
		p.MigReq = false
	}
	p.RETH = bth.RETH{VA: f.num("va"), DMALen: uint32(f.num("dma")), RKey: uint32(f.num("rkey"))}
	if r := s.regions[f["rkey"]]; r != nil {
		p.RETH.RKey = r.RKey()
	}
	s.parseMemory(p, f)
	p.AtomicETH = bth.AtomicETH{VA: p.RETH.VA, RKey: p.RETH.RKey, SwapAdd: f.num("add"), Compare: f.num("cmp")}
	p.AtomicAck = f.num("value")
	if f.has("syn") {
		syn, ok := syndromes[f["syn"]]
		if !ok {
			code, _ := strconv.Atoi(strings.TrimPrefix(f["syn"], "rnr"))
			syn = bth.RNR(uint8(code))
		}
		p.AETH = bth.AETH{Syndrome: syn, MSN: uint32(f.num("msn"))}
	} else {
		p.AETH.Syndrome = bth.AckUnlimited
	}
	return p
}

// format formats a packet as in a > step.
func (s *script) format(p *bth.Packet) string {
	info := p.Opcode.Info()
	l := fmt.Sprintf("%s psn=%d", strings.TrimPrefix(info.Name, "RC_"), p.PSN)
	if info.Payload {
		l += fmt.Sprintf(" len=%d", len(p.Payload))
	}
	if info.Headers&bth.HasRETH != 0 {
		l += fmt.Sprintf(" va=%#x dma=%d", p.RETH.VA, p.RETH.DMALen)
	}
	if info.Headers&bth.HasAETH != 0 {
		name := fmt.Sprintf("%#x", uint8(p.AETH.Syndrome))
		if p.AETH.Syndrome.IsRNR() {
			name = fmt.Sprintf("rnr%d", p.AETH.Syndrome.RNRTimer())
		}
		for n, v := range syndromes {
			if v == p.AETH.Syndrome {
				name = n
			}
		}
		l += fmt.Sprintf(" syn=%s msn=%d", name, p.AETH.MSN)
	}
	if info.Headers&bth.HasAtomicETH != 0 {
		l += fmt.Sprintf(" va=%#x add=%d cmp=%d", p.AtomicETH.VA, p.AtomicETH.SwapAdd, p.AtomicETH.Compare)
	}
	if info.Headers&bth.HasAtomicAckETH != 0 {
		l += fmt.Sprintf(" value=%d", p.AtomicAck)
	}
	if info.Headers&bth.HasImmDt != 0 {
		l += fmt.Sprintf(" imm=%d", p.Imm)
	}
	l += s.formatMemory(p, info)
	if p.AckReq {
		l += " ack"
	}
	if p.Solicited {
		l += " se"
	}
	return l
}
