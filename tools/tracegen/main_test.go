package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// generated returns the capture that args describe.
func generated(t *testing.T, args string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := run(strings.Fields(args), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// totals are the sums over all flows of a capture.
type totals struct {
	flows, messages, lost, again, naks, timeouts, ce, cnps, undecided uint64
	kinds                                                             map[trace.Kind]int
}

func (s *totals) Packet(p *trace.Packet) error {
	for _, f := range p.Findings {
		s.kinds[f.Kind]++
	}
	return nil
}

func (s *totals) Flow(f *trace.Flow) error {
	s.flows++
	s.messages += f.Messages
	s.lost += f.LostBefore + f.LostBehind
	s.again += f.Again
	s.naks += f.NAKs
	s.timeouts += f.Timeouts
	s.ce += f.CE
	s.cnps += f.CNPs
	s.undecided += f.Undecided
	return nil
}

func analysed(t *testing.T, file []byte) (*totals, trace.Counts) {
	t.Helper()
	src, err := capture.Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	s := &totals{kinds: map[trace.Kind]int{}}
	p := trace.Pipeline{Outputs: []trace.Output{s}}
	if err := p.Run(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	return s, p.Counts()
}

func TestEveryPacketIsRightAndTheLossesAreFound(t *testing.T) {
	s, c := analysed(t, generated(t, "-size 10M -qps 20 -loss 1e-3 -ce 1e-3"))
	if c.Packets != c.Frames || c.Wrong+c.Failed+c.Cut != 0 || c.Packets < 5000 {
		t.Errorf("%+v", c)
	}
	for kind := range s.kinds {
		switch kind {
		case trace.Gap, trace.SequenceNAK, trace.AfterNAK, trace.AfterTimeout, trace.ECNMarked, trace.Congestion:
		default:
			t.Errorf("%d findings %s", s.kinds[kind], kind)
		}
	}
	if s.flows != 20 || s.messages < 200 || s.lost == 0 || s.again < s.lost || s.naks == 0 || s.ce == 0 ||
		s.cnps == 0 || s.cnps > s.ce || s.undecided > 0 {
		t.Errorf("%+v", s)
	}
}

func TestACaptureWithoutLossesHasNoFindings(t *testing.T) {
	for _, args := range []string{"-mtu 4096 -qps 100", "-mtu 256 -message 100", "-qps 1 -hosts 2", "-snap 96"} {
		s, c := analysed(t, generated(t, "-size 1M "+args))
		if len(s.kinds) > 0 || c.Packets != c.Frames || c.Failed > 0 {
			t.Errorf("%s: %v, %+v", args, s.kinds, c)
		}
	}
}

func TestASeedSelectsTheCapture(t *testing.T) {
	a, b, c := generated(t, "-size 100k"), generated(t, "-size 100k"), generated(t, "-size 100k -seed 2")
	if !bytes.Equal(a, b) || bytes.Equal(a, c) {
		t.Errorf("equal seeds: %v, different seeds: %v", bytes.Equal(a, b), bytes.Equal(a, c))
	}
	if len(a) < 100_000 || len(a) > 110_000 {
		t.Errorf("%d bytes", len(a))
	}
}

func TestLossesOfAllPacketsOfAMessageEnd(t *testing.T) {
	if s, _ := analysed(t, generated(t, "-size 200k -qps 1 -hosts 2 -message 2000 -loss 0.5")); s.timeouts == 0 {
		t.Errorf("%+v", s)
	}
}

func TestFlagsOutOfRangeAreRefused(t *testing.T) {
	for _, args := range []string{
		"-size 0", "-size 10X", "-size 99999999999G", "-qps 0", "-hosts 1", "-hosts 100000", "-mtu 1000", "-mtu 8192",
		"-message 0", "-snap 10", "-loss 1", "-loss -1", "-ce 2", "more", "-nosuch",
	} {
		if err := run(strings.Fields(args), io.Discard, io.Discard); err == nil {
			t.Errorf("%s is accepted", args)
		}
	}
}

// FuzzParseSize checks that a size is positive and that its digits are in the text.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1", "10k", "5M", "10G", "0", "-1", "9223372036854775807G", "1e9", "", "k"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseSize(s); err == nil && n <= 0 {
			t.Errorf("%q: %d", s, n)
		}
	})
}
