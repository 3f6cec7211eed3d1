package trace_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// sumEvents adds up the events of all packets, by flow.
type sumEvents map[*trace.Flow]trace.Events

func (s sumEvents) Packet(p *trace.Packet) error {
	switch {
	case p.Flow != nil:
		s[p.Flow] = s[p.Flow].Plus(p.Events)
	case p.Events != trace.Events{}:
		s[nil] = s[nil].Plus(p.Events)
	}
	return nil
}

func TestEventsOfPacketsAddUpToTheCountersOfTheirFlow(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	again := int64(0)
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var r io.Reader = file
		if strings.HasSuffix(name, ".gz") {
			if r, err = gzip.NewReader(file); err != nil {
				t.Fatal(err)
			}
		}
		src, err := capture.Open(r)
		if err != nil {
			t.Fatal(err)
		}
		sums, ended := sumEvents{}, map[*trace.Flow]bool{}
		p := trace.Pipeline{Outputs: []trace.Output{sums}}
		p.Options.Flow = func(f *trace.Flow) { ended[f] = true }
		if err := p.Run(t.Context(), src); err != nil {
			t.Fatal(err)
		}
		final := map[*trace.Flow]trace.Events{}
		for f, e := range sums {
			if f == nil || !ended[f.Current()] {
				t.Errorf("%s: events of a flow that did not end: %+v", name, e)
				continue
			}
			final[f.Current()] = final[f.Current()].Plus(e)
		}
		for f := range ended {
			want := trace.Events{
				Again: int64(f.Again), Duplicates: int64(f.Duplicates), LostBefore: int64(f.LostBefore),
				LostBehind: int64(f.LostBehind), NAKs: int64(f.NAKs), RNRs: int64(f.RNRs), CNPs: int64(f.CNPs),
				CE: int64(f.CE), Timeouts: int64(f.Timeouts), Undecided: int64(f.Undecided),
			}
			if final[f] != want {
				t.Errorf("%s: flow %d: the packets have %+v, the flow %+v", name, f.Number, final[f], want)
			}
			again += want.Again
		}
	}
	if again == 0 {
		t.Error("no capture has a retransmission")
	}
}
