package trace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/internal/ulptraffic"
)

func TestTheULPCapturesAreThoseOfTheGenerator(t *testing.T) {
	for name, want := range ulptraffic.Captures() {
		golden.Check(t, "ulp/"+name+".pcap", string(want))
	}
}

// ulpCapture returns a committed capture.
func ulpCapture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "ulp", name+".pcap"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var ulpCaptures = []string{"nvme", "iser", "smbdirect", "nfs"}

// ulpAnalysis returns what the Analyzer says about the upper-layer protocols of a capture.
func ulpAnalysis(t *testing.T, pcap []byte) string {
	t.Helper()
	var b strings.Builder
	a := trace.NewAnalyzer(trace.Options{})
	readAll(t, bytes.NewReader(pcap), func(_ *capture.Frame, p *trace.Packet) {
		if p.Err != nil || p.ICRC.Verdict != trace.Right {
			t.Errorf("frame %d: %v, ICRC %v", p.Number, p.Err, p.ICRC)
		}
		a.Add(p)
		b.WriteString(describePacket(p))
	})
	a.Finish()
	return b.String()
}

func TestTheAnalysisOfULPCaptures(t *testing.T) {
	for _, name := range ulpCaptures {
		golden.Check(t, "ulp/"+name+".txt", ulpAnalysis(t, ulpCapture(t, name)))
	}
}

// Without the connection manager, a SEND that only the protocol has tells the protocol: all
// messages have the same roles.
func TestTheProtocolIsFoundWithoutAConnectionManager(t *testing.T) {
	for _, name := range ulpCaptures {
		var with, without strings.Builder
		for _, x := range []struct {
			b  *strings.Builder
			cm bool
		}{{&with, true}, {&without, false}} {
			a := trace.NewAnalyzer(trace.Options{})
			readAll(t, bytes.NewReader(ulpCapture(t, name)), func(f *capture.Frame, p *trace.Packet) {
				if !x.cm && p.BTH.DestQP == bth.GSI {
					return
				}
				a.Add(p)
				if p.Message != nil && p.Message.ULP != nil {
					x.b.WriteString(p.Message.ULP.String() + "\n")
				}
			})
		}
		if with.String() != without.String() {
			t.Errorf("%s: with the REQ\n%s\nwithout\n%s", name, with.String(), without.String())
		}
	}
}
