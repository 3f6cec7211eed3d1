package trace_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// Messages have the work request and completion noted by the capturing end, even if the
// completion follows a later packet of the same end.
func TestMessagesHaveTheirWorkRequestAndCompletion(t *testing.T) {
	var done []trace.Message
	a := trace.NewAnalyzer(trace.Options{Message: func(m *trace.Message) { done = append(done, *m) }})
	here, there := netip.MustParseAddrPort("198.18.0.1:4791"), netip.MustParseAddrPort("198.18.0.2:4791")
	n := 0
	add := func(out bool, b bth.Packet, comments ...string) {
		n++
		p := &trace.Packet{
			Number: n, Part: 1, Parts: 1, Time: time.Unix(1, int64(n)), Src: here, Dst: there, BTH: b,
			Len:  len(b.Append(nil)) + bth.ICRCLen,
			ICRC: trace.ICRC{Verdict: trace.Right}, Comments: comments, IP: trace.IP{Version: 4, HopLimit: 64},
		}
		if !out {
			p.Src, p.Dst = there, here
		}
		a.Add(p)
	}
	send := func(psn bth.PSN) bth.Packet {
		return bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, DestQP: 0x12, PSN: psn, AckReq: true,
			Payload: []byte("data")}
	}
	ack := func(psn bth.PSN) bth.Packet {
		return bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 0x11, PSN: psn,
			AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
	}
	add(true, send(5), "of somebody else", trace.RequestNote("wr_id 1 SEND"))
	add(true, send(6), trace.RequestNote("wr_id 2 SEND"))
	add(true, send(7), trace.RequestNote("wr_id 3 SEND"))
	add(false, ack(6), trace.CompletionNote(5, "wr_id 1 success"), trace.CompletionNote(6, "wr_id 2 success"))
	add(true, send(7), trace.RequestNote("wr_id 3 SEND"), trace.CompletionNote(7, "wr_id 3 failed"),
		trace.CompletionNote(99, "none"), "completion of PSN x: y")
	a.Finish()
	for i, want := range [][2]string{{"wr_id 1 SEND", "wr_id 1 success"}, {"wr_id 2 SEND", "wr_id 2 success"},
		{"wr_id 3 SEND", "wr_id 3 failed"}} {
		if i >= len(done) || done[i].WR != want[0] || done[i].WC != want[1] {
			t.Errorf("message %d of %d: want %q", i, len(done), want)
		}
	}
}

func TestAWriteThatGorxeSplitIsOneMessage(t *testing.T) {
	runScenarios(t, []scenario{
		{"its packets are joined by the note", `
			a WRITE_ONLY psn=100 len=1024 dma=1024 split=2500 from=100
				= WRITE #1, packet 1 of 3: 1024 bytes to 0x1000, key 0x77
			a WRITE_ONLY psn=101 len=1024 dma=1024 va=0x1400 split=2500 from=100
				= WRITE #1, packet 2 of 3: 1024 bytes to 0x1400, key 0x77
			b ACKNOWLEDGE psn=101
				= acknowledges WRITE #1 up to packet 2
			a WRITE_ONLY psn=102 len=452 dma=452 va=0x1800 ack split=2500 from=100
				= WRITE #1, packet 3 of 3: 452 bytes to 0x1800, key 0x77, AckReq
			b ACKNOWLEDGE psn=102
				= acknowledges WRITE #1, 4ms latency
			message WRITE #1 done
			a WRITE_ONLY psn=103 len=8 dma=8 ack
				= WRITE #2 of 8 bytes to 0x1000, key 0x77, AckReq
			flow 1 lost=0 again=0 payload=2508 messages=2`},
		{"a loss and what is sent again are those of a message", `
			a WRITE_ONLY psn=100 len=1024 dma=1024 split=2500 from=100
			a WRITE_ONLY psn=102 len=452 dma=452 va=0x1800 ack split=2500 from=100
				= WRITE #1, packet 3 of 3: 452 bytes to 0x1800, key 0x77, AckReq
				! gap PSN 101 is missing before this packet: lost before the capture point, or missed by the capture
			b ACKNOWLEDGE psn=101 syn=seq
				= requests PSN 101, packet 2 of WRITE #1: it is missing at the responder
				! nak_sequence ...
			a WRITE_ONLY psn=101 len=1024 dma=1024 va=0x1400 ack split=2500 from=100
				! again_after_nak ...
			b ACKNOWLEDGE psn=102
				! kept_early ...
			message WRITE #1 done`},
		{"without its first packet, or without a note, they are messages of their own", `
			a WRITE_ONLY psn=101 len=1024 dma=1024 split=2500 from=100
				= WRITE #1 of 1024 bytes to 0x1000, key 0x77
			a WRITE_ONLY psn=102 len=452 dma=452 ack split=2500 from=100
				= WRITE #2 of 452 bytes to 0x1000, key 0x77, AckReq
			a WRITE_ONLY psn=103 len=1024 dma=1024
				= WRITE #3 of 1024 bytes to 0x1000, key 0x77
			a WRITE_ONLY psn=104 len=1024 dma=1024
				= WRITE #4 of 1024 bytes to 0x1000, key 0x77`},
		{"a note that promises more than comes ends with the next message", `
			a WRITE_ONLY psn=100 len=1024 dma=1024 split=2147483647 from=100
				= WRITE #1, packet 1 of 2097152: 1024 bytes to 0x1000, key 0x77
			a SEND_ONLY psn=101 len=8 ack
				= SEND #2 of 8 bytes, AckReq
			b ACKNOWLEDGE psn=101
				! ack_coalesced ...
			message WRITE #1 done
			message SEND #2 done`},
	})
}

func TestWhatTheCaptureItselfLeftOutIsNoFinding(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, path := range append(files, rxetraffic.Unpack(t)...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			whole := findingsFrom(t, path, 0)
			step := 3
			if race.Enabled { // nothing to find in one goroutine
				step = 41
			}
			for from := 1; from < 400; from += step {
				for _, n := range []int{1, 2, 7, 40} {
					for _, f := range findingsWithout(t, path, from, n) {
						if !slices.ContainsFunc(whole,
							func(w numbered) bool { return w.frame == f.frame && sameFinding(w.Kind, f.Kind) }) {
							t.Errorf("without %d frames from %d on, frame %d has %s: %s", n, from, f.frame,
								f.Kind, f.Text)
						}
					}
				}
			}
		})
	}
}

// findingsWithout returns the findings of a capture that lacks n frames from one on, with a
// comment about it.
func findingsWithout(t *testing.T, path string, from, n int) (out []numbered) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a := trace.NewAnalyzer(trace.Options{})
	lacks := false
	readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
		if p.Number >= from && p.Number < from+n {
			lacks = true
			return
		}
		if lacks && p.Number >= from+n {
			lacks = false
			p.Comments = append(p.Comments, trace.MissingNote(uint64(n)))
		}
		a.Add(p)
		for _, f := range p.Findings {
			if f.Kind != trace.NeverMigReq {
				out = append(out, numbered{p.Number, f})
			}
		}
	})
	a.Finish()
	return out
}

func TestTheCommentOnMissingPackets(t *testing.T) {
	for comment, want := range map[string]uint64{
		trace.MissingNote(1): 1, trace.MissingNote(18446744073709551615): 18446744073709551615, "": 0,
		"-1" + trace.MissingNote(2)[1:]: 0, "work request: 1": 0,
		"7 packets before this one are missing: they came faster than the trace could be written": 7,
		// of earlier versions
	} {
		if got := trace.Missing(comment); got != want {
			t.Errorf("%q: %d, want %d", comment, got, want)
		}
	}
}
