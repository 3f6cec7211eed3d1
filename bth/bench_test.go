package bth_test

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

var benchPackets = []bth.Packet{
	{Opcode: bth.RCWriteMiddle, PKey: 0xffff, DestQP: 17, PSN: 5, Payload: make([]byte, 1024)},
	{Opcode: bth.RCWriteOnlyImm, PKey: 0xffff, DestQP: 17, AckReq: true, PSN: 5, Payload: make([]byte, 1024)},
	{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 17, PSN: 5, AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 3}},
	{Opcode: bth.RCCmpSwap, PKey: 0xffff, DestQP: 17, AckReq: true, PSN: 5},
	{Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: 1, PSN: 5, Payload: make([]byte, 256)},
}

func BenchmarkDecode(b *testing.B) {
	for _, p := range benchPackets {
		wire := bth.AppendICRC(p.Append(nil), 0)
		b.Run(p.Opcode.String(), func(b *testing.B) {
			b.ReportAllocs()
			var q bth.Packet
			for b.Loop() {
				if err := q.Decode(wire); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("refused", func(b *testing.B) {
		b.ReportAllocs()
		wire := unhex(b, "1f"+bthHex+icrcHex)
		var q bth.Packet
		for b.Loop() {
			if q.Decode(wire) == nil {
				b.Fatal("accepted")
			}
		}
	})
}

func BenchmarkAppendHeaders(b *testing.B) {
	for _, p := range benchPackets {
		b.Run(p.Opcode.String(), func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, bth.MaxHeaderLen)
			for b.Loop() {
				dst = p.AppendHeaders(dst[:0])
			}
		})
	}
}

func BenchmarkSeed(b *testing.B) {
	var sink uint32
	b.Run("IPv4", func(b *testing.B) {
		b.ReportAllocs()
		h := testHeader4(1048)
		for b.Loop() {
			h.ID++
			sink ^= h.Seed()
		}
	})
	b.Run("IPv6", func(b *testing.B) {
		b.ReportAllocs()
		h := testHeader6(1048)
		for b.Loop() {
			h.SrcPort++
			sink ^= h.Seed()
		}
	})
}

// BenchmarkICRC measures the seed and the ICRC of WRITEs of several lengths.
func BenchmarkICRC(b *testing.B) {
	for _, n := range []int{64, 1024, 4096} {
		body := randomPacket(1, n)
		h := testHeader4(len(body) + bth.ICRCLen)
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			var sink uint32
			for b.Loop() {
				sink ^= bth.ICRC(h.Seed(), body)
			}
		})
	}
}

// BenchmarkICRCStartWith measures the ICRC of a WRITE whose headers and payload are in different
// buffers, in one step and in two.
func BenchmarkICRCStartWith(b *testing.B) {
	headers, payload := randomPacket(1, bth.BTHLen+bth.RETHLen), randomPacket(2, 4096)
	var sink uint32
	for _, n := range []int{64, 1024, 4096} {
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			for b.Loop() {
				sink ^= bth.ICRCStartWith(sink, headers, payload[:n])
			}
		})
		b.Run(fmt.Sprintf("%dB/twoSteps", n), func(b *testing.B) {
			for b.Loop() {
				sink ^= bth.ICRCContinue(bth.ICRCStart(sink, headers), payload[:n])
			}
		})
	}
}

// BenchmarkSolveID measures SolveID, and the part of it that follows the ICRC.
func BenchmarkSolveID(b *testing.B) {
	for _, n := range []int{64, 1024, 4096} {
		h, packet := solvable(1, n, 0xabcd)
		b.Run(fmt.Sprintf("%dB", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := bth.SolveID(&h, packet); !ok {
					b.Fatal("no identification")
				}
			}
		})
		h.ID = 0
		computed, wire := bth.ICRC(h.Seed(), packet[:len(packet)-bth.ICRCLen]), bth.ReadICRC(packet)
		b.Run(fmt.Sprintf("%dB/withoutICRC", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := bth.SolveIDFrom(0, computed, wire, len(packet)); !ok {
					b.Fatal("no identification")
				}
			}
		})
	}
}
