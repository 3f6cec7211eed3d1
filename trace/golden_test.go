package trace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// analysis returns the output of an Analyzer for a capture: packets, then messages and flows.
func analysis(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var b, messages, flows strings.Builder
	a := trace.NewAnalyzer(trace.Options{
		Message: func(m *trace.Message) { messages.WriteString(describeMessage(m)) },
		Flow:    func(f *trace.Flow) { flows.WriteString(describeFlow(f)) },
	})
	readAll(t, file, func(f *capture.Frame, p *trace.Packet) {
		a.Add(p)
		b.WriteString(describePacket(p))
	})
	a.Finish()
	return b.String() + "\n" + messages.String() + "\n" + flows.String()
}

func describePacket(p *trace.Packet) string {
	again := ""
	if p.Again {
		again = " again"
	}
	s := fmt.Sprintf("%d flow %d %s%s: %s\n", p.Number, p.Flow.Number, p.Role, again, p.Meaning)
	for _, f := range p.Findings {
		s += fmt.Sprintf("    %s %s %v: %s\n", f.Level, f.Kind, f.Frames, f.Text)
	}
	return s
}

func describeMessage(m *trace.Message) string {
	s := fmt.Sprintf("message %d.%d %s from %d, PSN %d to %d, %d bytes, %d packets, frames %d to %d, latency %v",
		m.Flow.Number, m.Number, m.Verb, m.From, m.First, m.Last,
		m.Bytes, m.Packets, m.Frames[0], m.Frames[1], m.Latency())
	if m.Again > 0 {
		s += fmt.Sprintf(", %d again", m.Again)
	}
	if m.Partial {
		s += ", partial"
	}
	if m.Failed != "" {
		s += ", failed: " + m.Failed
	}
	return s + "\n"
}

func describeFlow(f *trace.Flow) string {
	s := fmt.Sprintf("flow %d %s %v/%#x %v/%#x from frame %d, %v: MTU %d", f.Number, f.Service, f.Ends[0].Addr,
		f.Ends[0].QPN, f.Ends[1].Addr, f.Ends[1].QPN,
		f.First, f.Last.Sub(f.Begin), f.MTU)
	if f.MTUExact {
		s += " exactly"
	}
	s += fmt.Sprintf(", %d packets, %d bytes, payload %d, %d messages, again %d, lost %d, NAKs %d, RNRs %d, CNPs %d, timeouts %d, window %d, RTT %d %v %v %v",
		f.Packets, f.Bytes, f.Payload, f.Messages, f.Again, f.LostBefore, f.NAKs, f.RNRs, f.CNPs, f.Timeouts, f.Window,
		f.RTT.Count, f.RTT.Min, f.RTT.Max, f.RTT.Sum)
	if m := f.CM; m != nil {
		s += fmt.Sprintf(", managed: service %#x port %d took %v retries %d rejected %q ended %v", m.ServiceID, m.Port,
			m.SetupTime, m.Retries, m.Rejected, m.Ended)
	}
	if f.BeganBefore {
		s += ", running"
	}
	if f.Err != "" {
		s += ", failed: " + f.Err
	}
	return s + "\n"
}

func TestTheAnalysisOfEveryCapture(t *testing.T) {
	for _, path := range rxetraffic.Unpack(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".pcap")
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "analysis/"+name+".txt", analysis(t, path))
		})
	}
}
