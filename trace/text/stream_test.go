package text_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// stream generates a capture of a long conversation while it is read: WRITEs of eight packets
// with ICRCs, each acknowledged.
type stream struct {
	left  int    // remaining frames
	block []byte // file header, then the records of turns messages
	at    int
	turn  int // current record in block
}

// turns is the number of messages after which the same bytes repeat. The second half has PSNs far
// from those of the first, so that a repetition is a new connection and not a retransmission.
const (
	turns = 64
	away  = 1 << 20
)

func newStream(frames, payload int) *stream {
	s := &stream{left: frames}
	head := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	head = append(head, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0)
	head = binary.LittleEndian.AppendUint32(head, uint32(capture.LinkRaw))
	s.block = head
	add := func(p bth.Packet) {
		f := frameOf(1, time.Duration(s.turn)*time.Millisecond, p)
		f.Data[1] = 2 // clears ECN CE
		s.block = binary.LittleEndian.AppendUint32(s.block, uint32(f.Time.Unix()))
		s.block = binary.LittleEndian.AppendUint32(s.block, uint32(f.Time.Nanosecond()/1000))
		s.block = binary.LittleEndian.AppendUint32(s.block, uint32(len(f.Data)))
		s.block = binary.LittleEndian.AppendUint32(s.block, uint32(len(f.Data)))
		s.block = append(s.block, f.Data...)
		s.turn++
	}
	ops := []bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteMiddle,
		bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteLast}
	for m := range turns {
		psn := bth.PSN(m*len(ops) + m/(turns/2)*away)
		for i, op := range ops {
			add(bth.Packet{
				Opcode: op, PKey: 0xffff, DestQP: 0x11, PSN: psn.Add(uint32(i)), AckReq: op == bth.RCWriteLast,
				RETH: bth.RETH{VA: 1, RKey: 2, DMALen: uint32(8 * payload)}, Payload: make([]byte, payload),
			})
		}
		add(bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 0x12, PSN: psn.Add(7),
			AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: uint32(m + 1)}})
	}
	return s
}

// Read returns the file header once and then the records repeatedly.
func (s *stream) Read(b []byte) (int, error) {
	if s.at == len(s.block) {
		if s.left -= s.turn; s.left <= 0 {
			return 0, io.EOF
		}
		s.at = 24
	}
	n := copy(b, s.block[s.at:])
	s.at += n
	return n, nil
}

// run reads a capture and writes it as lines, with meanings if a is not nil.
func run(t testing.TB, in io.Reader, out io.Writer, a *trace.Analyzer) trace.Counts {
	r, err := capture.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	var f capture.Frame
	var d trace.Decoder
	w := text.NewWriter(out, text.Options{})
	show := func(p *trace.Packet) {
		if a != nil {
			a.Add(p)
		}
		err = w.Packet(p)
	}
	for {
		switch e := r.Next(&f); {
		case errors.Is(e, io.EOF):
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			return d.Counts
		case e != nil:
			t.Fatal(e)
		}
		if d.Decode(&f, show); err != nil {
			t.Fatal(err)
		}
	}
}

// Reading a gigabyte allocates less than two read buffers.
func TestAGigabyteStreamsThroughConstantMemory(t *testing.T) {
	const payload = 4096
	size := 1 << 30
	if testing.Short() {
		size >>= 4
	}
	frames := size / payload * 9 / 8
	in := newStream(frames, payload)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := run(t, in, io.Discard, nil)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 4<<20 {
		t.Errorf("%d bytes were allocated while %d packets were read", allocated, c.Packets)
	}
	if c.Packets < uint64(frames) || c.Wrong != 0 || c.Failed != 0 {
		t.Errorf("%+v", c)
	}
}

// BenchmarkCaptureToFile is 'gorxe trace FILE >out', with and without meanings.
func BenchmarkCaptureToFile(b *testing.B) {
	for _, payload := range []int{256, 1024, 4096} {
		for _, meaning := range []bool{false, true} {
			b.Run(fmt.Sprintf("payload=%d/meaning=%v", payload, meaning), func(b *testing.B) {
				out, err := os.Create(filepath.Join(b.TempDir(), "out.txt"))
				if err != nil {
					b.Fatal(err)
				}
				defer out.Close()
				var a *trace.Analyzer
				if meaning {
					a = trace.NewAnalyzer(trace.Options{})
				}
				in := newStream(max(b.N, 9), payload)
				b.ReportAllocs()
				b.ResetTimer()
				c := run(b, in, out, a)
				b.ReportMetric(float64(c.Packets)/b.Elapsed().Seconds(), "packets/s")
			})
		}
	}
}
