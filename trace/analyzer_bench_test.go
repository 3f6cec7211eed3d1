package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// stream is an endless conversation: WRITEs of eight packets, each acknowledged.
type stream struct {
	p     trace.Packet
	b     []byte
	psn   bth.PSN
	n     int
	now   time.Time
	a, b2 netip.AddrPort
}

func newStream() *stream {
	return &stream{
		now: time.Unix(1000, 0), b: make([]byte, 0, 2048),
		a: netip.MustParseAddrPort("10.0.0.1:4791"), b2: netip.MustParseAddrPort("10.0.0.2:4791"),
	}
}

var streamOps = [9]bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteMiddle,
	bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCAck}

var streamPayload = make([]byte, 1024)

func (s *stream) next() *trace.Packet {
	i := s.n % len(streamOps)
	s.n++
	s.now = s.now.Add(time.Microsecond)
	s.p = trace.Packet{Number: s.n, Part: 1, Parts: 1, Time: s.now, Src: s.a, Dst: s.b2,
		ICRC: trace.ICRC{Verdict: trace.Right}, IP: trace.IP{Version: 4, ID: uint16(s.n)}}
	p := &s.p.BTH
	*p = bth.Packet{Opcode: streamOps[i], DestQP: 0x22, PSN: s.psn, MigReq: true, Payload: streamPayload,
		AckReq: i == 7}
	switch {
	case i == 0:
		p.RETH.DMALen = 8 * 1024
	case i == 8:
		s.p.Src, s.p.Dst = s.b2, s.a
		p.DestQP, p.PSN, p.Payload, p.AETH.Syndrome = 0x11, s.psn.Sub(1), nil, bth.AckUnlimited
	}
	if i < 8 {
		s.psn = s.psn.Add(1)
	}
	s.p.Len = p.Opcode.Info().HeaderLen + len(p.Payload) + 4
	return &s.p
}

func TestAnalysingAllocatesAMessageAndAMeaningAndNoMore(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    trace.Options
		most float64 // for the nine packets of a message
	}{
		{"without meanings", trace.Options{NoMeaning: true}, 1},
		{"with meanings", trace.Options{}, 10},
		{"with meanings in reused memory", trace.Options{ReuseMeaning: true}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, s := trace.NewAnalyzer(tt.o), newStream()
			nine := func() {
				for range streamOps {
					a.Add(s.next())
				}
			}
			for range 200 {
				nine()
			}
			if n := testing.AllocsPerRun(1000, nine); n > tt.most {
				t.Errorf("%v allocations for a message of nine packets, want %v", n, tt.most)
			}
		})
	}
}

func TestReusedMeaningsAreThoseOfThePacket(t *testing.T) {
	kept, reused := trace.NewAnalyzer(trace.Options{}), trace.NewAnalyzer(trace.Options{ReuseMeaning: true})
	x, y := newStream(), newStream()
	for range 100 {
		p, q := x.next(), y.next()
		kept.Add(p)
		reused.Add(q)
		if p.Meaning == "" || p.Meaning != q.Meaning {
			t.Fatalf("%q, with reused memory %q", p.Meaning, q.Meaning)
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, tt := range []struct {
		name string
		o    trace.Options
	}{
		{"meaning", trace.Options{}}, {"meaning in reused memory", trace.Options{ReuseMeaning: true}},
		{"no meaning", trace.Options{NoMeaning: true}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			a, s := trace.NewAnalyzer(tt.o), newStream()
			b.ReportAllocs()
			for b.Loop() {
				a.Add(s.next())
			}
		})
	}
}

// BenchmarkAddLosses repeats the capture with losses: a finding for every second packet.
func BenchmarkAddLosses(b *testing.B) {
	file, err := os.Open("testdata/loss_write.pcap.gz")
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		b.Fatal(err)
	}
	whole, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	n := 0
	for n < b.N {
		r, err := capture.Open(bytes.NewReader(whole))
		if err != nil {
			b.Fatal(err)
		}
		a := trace.NewAnalyzer(trace.Options{})
		var f capture.Frame
		var d trace.Decoder
		for {
			if err := r.Next(&f); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
			d.Decode(&f, func(p *trace.Packet) { a.Add(p); n++ })
		}
	}
}
