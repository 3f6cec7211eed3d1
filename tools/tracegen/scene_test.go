package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
)

func TestTheCapturesOfLearnAreThoseOfTheScenes(t *testing.T) {
	for name := range scenes {
		b, err := os.ReadFile(filepath.Join("..", "..", "docs", "learn", name+".pcap.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 300_000 {
			t.Errorf("%s: %d bytes", name, len(b))
		}
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		if want := generated(t, "-scene "+name); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, the scene has %d: go run ./tools/tracegen -scene %s | gzip -9n > docs/learn/%s.pcap.gz",
				name, len(got), len(want), name, name)
		}
	}
}

// built returns a scene that has run, without its frames.
func built(t *testing.T, name string) *simulation {
	t.Helper()
	s := newSimulation(io.Discard)
	scenes[name](s)
	if s.run(); s.err != nil {
		t.Fatal(s.err)
	}
	return s
}

func TestScenesComplete(t *testing.T) {
	for name := range scenes {
		for i, c := range built(t, name).conns {
			want := c.count
			if c.badKey > 0 {
				want = c.badKey - 1
			}
			if c.completed != want || c.failed != (c.badKey > 0) {
				t.Errorf("%s: connection %d: %d of %d messages, failed %v", name, i, c.completed, want, c.failed)
			}
		}
	}
}

// The connections of a scene tell the truth; the trace of its capture must agree.
func TestTheTraceOfTheClusterIsRight(t *testing.T) {
	s := built(t, "cluster")
	seen, counts := analysed(t, generated(t, "-scene cluster"))
	if counts.Packets != counts.Frames || counts.Wrong+counts.Failed+counts.Cut > 0 {
		t.Errorf("%+v", counts)
	}
	if seen.flows != uint64(len(s.conns)) || seen.undecided > 0 {
		t.Errorf("%+v, want %d flows", seen, len(s.conns))
	}
	var timeouts, cnps, lost uint64
	for _, c := range s.conns {
		timeouts += c.timeouts
		cnps += c.notified
		lost += c.lostRequests
		if c.lost > 0 && c.from != 7 && c.to != 7 {
			t.Errorf("%d to %d: %d packets lost", c.from, c.to, c.lost)
		}
	}
	// A packet that is lost after another one of its window is retransmitted anyway: if it was lost
	// behind the capture point, the capture does not show that.
	if seen.timeouts != timeouts || seen.cnps != cnps || seen.lost > lost || seen.lost < lost*3/4 {
		t.Errorf("%d timeouts, %d CNPs, %d lost, want %d, %d and %d", seen.timeouts, seen.cnps, seen.lost, timeouts,
			cnps, lost)
	}
	for _, kind := range []trace.Kind{trace.Gap, trace.SequenceNAK, trace.RNRNAK, trace.ErrorNAK, trace.ECNMarked,
		trace.Congestion} {
		if seen.kinds[kind] == 0 {
			t.Errorf("no finding %s", kind)
		}
	}
}

func TestDCQCNHalvesTheRateAndRecovers(t *testing.T) {
	r := newRate(10)
	if r.cut(1000); r.current != 5000 || r.target != 10_000 {
		t.Errorf("after a CNP: %+v", r)
	}
	if r.recover(1000 + dcqcnTimer); r.current != 7500 {
		t.Errorf("after a step: %+v", r)
	}
	for range 50 {
		r.cut(r.updated)
	}
	if r.current != dcqcnMin {
		t.Errorf("after many CNPs: %+v", r)
	}
	if r.recover(r.updated + 10_000*dcqcnTimer); r.current < 9_900 {
		t.Errorf("after a long time: %+v", r)
	}
}

func TestAnUnknownSceneIsRefused(t *testing.T) {
	err := run(strings.Fields("-scene nosuch"), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "cluster or congestion") {
		t.Error(err)
	}
}
