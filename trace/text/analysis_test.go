package text_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/text"
)

// growing is a capture of an endless conversation: WRITEs of eight packets with consecutive PSNs,
// and acknowledgements.
type growing struct {
	left    int // remaining turns
	psn     bth.PSN
	turns   int
	block   []byte
	payload []byte
}

func newGrowing(turns, payload int) *growing {
	g := &growing{left: turns, payload: make([]byte, payload)}
	g.block = binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	g.block = append(g.block, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0)
	g.block = binary.LittleEndian.AppendUint32(g.block, uint32(capture.LinkRaw))
	return g
}

var growingOps = [...]bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteMiddle,
	bth.RCWriteMiddle, bth.RCWriteMiddle,
	bth.RCWriteMiddle, bth.RCWriteLast, bth.RCAck}

func (g *growing) Read(b []byte) (int, error) {
	if len(g.block) == 0 {
		if g.left == 0 {
			return 0, io.EOF
		}
		g.left--
		g.block = g.turn(g.block[:0])
	}
	n := copy(b, g.block)
	g.block = g.block[n:]
	return n, nil
}

func (g *growing) turn(block []byte) []byte {
	for i, op := range growingOps {
		p := bth.Packet{Opcode: op, PKey: 0xffff, MigReq: true, DestQP: 0x11, PSN: g.psn.Add(uint32(i)), AckReq: i == 7,
			RETH: bth.RETH{VA: 1, RKey: 2, DMALen: uint32(8 * len(g.payload))}, Payload: g.payload}
		if i == 8 {
			p.DestQP, p.PSN, p.Payload, p.AETH = 0x12, g.psn.Add(7), nil,
				bth.AETH{Syndrome: bth.AckUnlimited, MSN: uint32(g.turns + 1)}
		}
		src, dst := near, far
		if i == 8 {
			src, dst = far, near
		}
		data := datagram(src, dst, p)
		at := time.Unix(1700000000, 0).Add(time.Duration(9*g.turns+i) * time.Microsecond)
		for _, v := range []int{int(at.Unix()), at.Nanosecond() / 1000, len(data), len(data)} {
			block = binary.LittleEndian.AppendUint32(block, uint32(v))
		}
		block = append(block, data...)
	}
	g.psn = g.psn.Add(8)
	g.turns++
	return block
}

// datagram returns an IPv4 datagram with a packet and its ICRC.
func datagram(src, dst netip.Addr, p bth.Packet) []byte {
	payload := p.Append(nil)
	h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: 0x4000, SrcPort: 50000, DstPort: trace.Port,
		UDPLen: bth.UDPHeaderLen + len(payload) + bth.ICRCLen}
	payload = bth.AppendICRC(payload, bth.ICRC(h.Seed(), payload))
	n := 28 + len(payload)
	b := []byte{0x45, 2, byte(n >> 8), byte(n), 0, 0, 0x40, 0, 64, 17, 0, 0}
	b = append(append(append(b, src.AsSlice()...), dst.AsSlice()...), 0xc3, 0x50, 0x12, 0xb7, byte((n-20)>>8),
		byte(n-20), 0, 0)
	return append(b, payload...)
}

// analysed reads a capture, analyses it and writes it as lines. It calls look from time to time.
func analysed(t testing.TB, in io.Reader, out io.Writer, look func(packets int)) (packets int) {
	t.Helper()
	r, err := capture.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	var f capture.Frame
	var d trace.Decoder
	w := text.NewWriter(out, text.Options{})
	a := trace.NewAnalyzer(trace.Options{})
	show := func(p *trace.Packet) {
		packets++
		a.Add(p)
		err = w.Packet(p)
		if len(p.Findings) > 0 {
			t.Fatalf("packet %d: %+v", packets, p.Findings)
		}
	}
	for {
		switch e := r.Next(&f); {
		case errors.Is(e, io.EOF):
			a.Finish()
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			return packets
		case e != nil:
			t.Fatal(e)
		}
		if d.Decode(&f, show); err != nil {
			t.Fatal(err)
		}
		if packets%45000 == 0 {
			look(packets)
		}
	}
}

func TestAnAnalysisTakesNoMoreMemoryTheLongerItIs(t *testing.T) {
	var first uint64
	analysed(t, newGrowing(30_000, 256), io.Discard, func(packets int) {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if first == 0 {
			first = m.HeapAlloc
		} else if m.HeapAlloc > first+1<<20 {
			t.Errorf("after %d packets the heap has %d bytes, at first it had %d", packets, m.HeapAlloc, first)
		}
	})
}

func BenchmarkAnalysisToFile(b *testing.B) {
	for _, tt := range []struct {
		name    string
		payload int
	}{{"256 bytes", 256}, {"1024 bytes", 1024}, {"4096 bytes", 4096}} {
		b.Run(tt.name, func(b *testing.B) {
			out, err := os.Create(filepath.Join(b.TempDir(), "out.txt"))
			if err != nil {
				b.Fatal(err)
			}
			defer out.Close()
			whole, err := io.ReadAll(newGrowing(2000, tt.payload))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for n < b.N {
				n += analysed(b, bytes.NewReader(whole), out, func(int) {})
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}
