package bth_test

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestTheDataPathAllocatesNothing(t *testing.T) {
	p := bth.Packet{
		Opcode: bth.RCWriteOnlyImm, PKey: 0xffff, RETH: bth.RETH{VA: 1, RKey: 2, DMALen: 1022},
		Payload: make([]byte, 1022),
	}
	body := p.Append(make([]byte, 0, bth.MaxPacketLen))
	h4, h6 := testHeader4(len(body)+bth.ICRCLen), testHeader6(len(body)+bth.ICRCLen)
	packet := bth.AppendICRC(body, bth.ICRC(h4.Seed(), body))
	ip4, ip6 := datagram4(&h4, packet), datagram6(&h6, packet)
	cnp := bth.Packet{Opcode: bth.CNP}
	dst := make([]byte, 0, bth.MaxPacketLen)

	var sink uint32
	paths := map[string]func(){
		"Decode": func() {
			if err := p.Decode(packet); err != nil {
				t.Fatal(err)
			}
		},
		"AppendHeaders":      func() { dst = p.AppendHeaders(dst[:0]) },
		"AppendHeaders, CNP": func() { dst = cnp.AppendHeaders(dst[:0]) },
		"Append and AppendICRC": func() {
			dst = bth.AppendICRC(p.Append(dst[:0]), sink)
		},
		"Header4.Seed": func() { sink = h4.Seed() },
		"Header6.Seed": func() { sink = h6.Seed() },
		"SeedIP": func() {
			s4, _, _ := bth.SeedIP(ip4)
			s6, _, _ := bth.SeedIP(ip6)
			sink = s4 ^ s6
		},
		"ICRC":      func() { sink = bth.ICRC(1, body) },
		"CheckICRC": func() { bth.CheckICRC(1, packet) },
		"ICRC in pieces": func() {
			sink = bth.ICRCContinue(bth.ICRCStart(1, body[:32]), body[32:])
		},
		"SolveID":                  func() { bth.SolveID(&h4, packet) },
		"names of opcode, reason":  func() { sink = uint32(len(p.Opcode.String()) + len(bth.ReasonPad.String())) },
		"SeedIP, refused":          func() { _, _, err := bth.SeedIP(ip4[:30]); sink = uint32(bth.ReasonOf(err)) },
		"opcodes' table, walked":   func() { walkOpcodes(&sink) },
		"Decode, unknown opcode":   decodeRefused(t, "1f"+bthHex+icrcHex, bth.ReasonUnknownOpcode),
		"Decode, nothing":          decodeRefused(t, "", bth.ReasonShortBTH),
		"Decode, reserved syndrom": decodeRefused(t, "11"+bthHex+"40000001"+icrcHex, bth.ReasonSyndrome),
	}
	for _, tt := range hostile {
		paths["Decode, "+tt.name] = decodeRefused(t, tt.wire, tt.reason)
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, path); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

func walkOpcodes(sink *uint32) {
	for o := range bth.Opcodes() {
		*sink += uint32(o.Info().HeaderLen)
	}
}

func decodeRefused(t *testing.T, wire string, want bth.Reason) func() {
	b := unhex(t, wire)
	p := new(bth.Packet)
	return func() {
		if got := bth.ReasonOf(p.Decode(b)); got != want {
			t.Fatalf("Decode refused for %s, want %s", got, want)
		}
	}
}
