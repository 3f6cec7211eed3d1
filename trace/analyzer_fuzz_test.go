package trace_test

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

// FuzzAnalyzer passes an Analyzer packets of any kind in any order. Eight bytes of input make a
// packet.
func FuzzAnalyzer(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	// A SEND and its acknowledgement, a READ and its response, twice
	f.Add([]byte{0x04, 0x10, 1, 0, 0, 9, 0, 0, 0x11, 0x91, 1, 0, 0, 0, 0, 0,
		0x0c, 0x10, 2, 0, 0, 99, 0, 0, 0x10, 0x91, 2, 0, 0, 99, 0, 0,
		0x0c, 0x10, 2, 0, 0, 99, 0, 0, 0x10, 0x91, 2, 0, 0, 99, 0, 0})
	// REQ, REP, RTU, DREQ, DREP
	f.Add([]byte{0xf0, 0, 1, 0, 0, 1, 1, 2, 0xf3, 0x81, 1, 0, 0, 2, 2, 1, 0xf4, 0, 1, 0, 0, 1, 1, 2, 0xf5, 0, 1, 0, 0,
		1, 1, 2, 0xf6, 0x81, 1, 0, 0, 2, 2, 1})
	f.Fuzz(analyseAnything)
}

func TestAnyPacketsInAnyOrderKeepTheBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		data := make([]byte, 8*random.IntN(400))
		for i := range data {
			data[i] = byte(random.Uint32())
			switch i % 8 {
			case 0: // mostly RC
				if random.IntN(4) > 0 {
					data[i] %= 0x1e
				}
			case 1, 3: // few wrong ICRCs and ECN marks, nearby PSNs
				data[i] &= 0x83 &^ byte(random.IntN(2)*0x40)
			case 2, 5:
				data[i] &= 0x1f
			}
		}
		analyseAnything(t, data)
	}
}

func analyseAnything(t *testing.T, data []byte) {
	open, flows := 0, map[int]bool{}
	a := trace.NewAnalyzer(trace.Options{
		Flows: 5, Outstanding: 7,
		Message: func(m *trace.Message) {
			open--
			if m.Done && m.Failed != "" || m.Flow == nil {
				t.Errorf("%+v", m)
			}
		},
		Flow: func(f *trace.Flow) {
			if flows[f.Number] {
				t.Errorf("flow %d ends twice", f.Number)
			}
			flows[f.Number] = true
		},
	})
	seen := map[*trace.Message]bool{}
	now := time.Unix(1000, 0)
	for i := 0; i+8 <= len(data); i += 8 {
		now = now.Add(time.Duration(data[i+7]) * 20 * time.Microsecond)
		p := fuzzPacket([8]byte(data[i:]), now)
		p.Number = i/8 + 1
		a.Add(p)
		if p.Meaning == "" {
			t.Fatalf("%s has no meaning", p.BTH.Opcode)
		}
		if p.Message != nil && !seen[p.Message] {
			seen[p.Message] = true
			open++
		}
		if err := a.CheckBounds(); err != nil {
			t.Fatalf("after packet %d: %v", p.Number, err)
		}
	}
	a.Finish()
	if open != 0 {
		t.Errorf("%d messages more were shown than handed over", open)
	}
	records, messages := a.Kept()
	if n, _ := a.Active(); n != 0 || records != 0 || messages != 0 {
		t.Errorf("after the end there are %d flows, %d records, %d messages", n, records, messages)
	}
}

// fuzzPacket makes a packet from opcode or CM attribute; host, bad ICRC, mark, queue pair; PSN;
// length; syndrome and more.
func fuzzPacket(b [8]byte, now time.Time) *trace.Packet {
	src, dst := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if b[1]&0x80 != 0 {
		src, dst = dst, src
	}
	p := &trace.Packet{
		Part: 1, Parts: 1, Time: now, Src: netip.AddrPortFrom(src, 4791), Dst: netip.AddrPortFrom(dst, 4791),
		IP:   trace.IP{Version: 4, TrafficClass: b[1] >> 4 & 3, ID: uint16(b[6]) * 100},
		ICRC: trace.ICRC{Verdict: trace.Right},
	}
	if b[1]&0x40 != 0 {
		p.ICRC.Verdict = trace.Wrong
	}
	psn := bth.PSN(b[2]) | bth.PSN(b[3]&1)<<23 | bth.PSN(b[3]&2)<<18
	p.BTH = bth.Packet{
		Opcode: bth.Opcode(b[0]), DestQP: bth.QPN(b[1]&3 + 2), PSN: psn, AckReq: b[4]&1 != 0,
		Payload: make([]byte, int(b[5])*5),
		RETH:    bth.RETH{DMALen: uint32(b[5])<<3 | uint32(b[6])<<24}, AETH: bth.AETH{Syndrome: bth.Syndrome(b[4])},
		DETH: bth.DETH{SrcQP: bth.QPN(b[6] & 3)}, AtomicAck: uint64(b[6]),
	}
	if b[0] >= 0xf0 {
		m := &mad.Message{Attribute: mad.AttrREQ + mad.Attribute(b[0]&0xf)%11}
		local, remote := mad.CommID(b[5]&3), mad.CommID(b[6]&3)
		m.REQ = mad.REQ{LocalCommID: local, LocalQPN: bth.QPN(b[4]&3 + 2), StartingPSN: psn, PathMTU: b[6] >> 4,
			TransportService: mad.TransportService(b[4] >> 6)}
		m.REP = mad.REP{LocalCommID: local, RemoteCommID: remote, LocalQPN: bth.QPN(b[4]&3 + 2), StartingPSN: psn}
		m.RTU = mad.RTU{LocalCommID: local, RemoteCommID: remote}
		m.MRA = mad.MRA{LocalCommID: local, RemoteCommID: remote}
		m.REJ = mad.REJ{LocalCommID: local, RemoteCommID: remote, Reason: mad.RejectReason(b[4])}
		m.DREQ = mad.DREQ{LocalCommID: local, RemoteCommID: remote, RemoteQPN: bth.QPN(b[4]&3 + 2)}
		m.DREP = mad.DREP{LocalCommID: local, RemoteCommID: remote}
		p.MAD = m
		p.BTH = bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI, PSN: psn, Payload: make([]byte, mad.Len),
			DETH: bth.DETH{SrcQP: bth.GSI}}
	}
	p.Bytes = append(p.BTH.Append(nil), 0, 0, 0, 0)
	p.Len = len(p.Bytes)
	p.Err = p.BTH.Decode(p.Bytes)
	return p
}
