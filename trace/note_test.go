package trace_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// Messages have what the end that captured them noted: also one whose completion comes with a later packet of its own end.
func TestMessagesHaveTheirWorkRequestAndCompletion(t *testing.T) {
	var done []trace.Message
	a := trace.NewAnalyzer(trace.Options{Message: func(m *trace.Message) { done = append(done, *m) }})
	here, there := netip.MustParseAddrPort("198.18.0.1:4791"), netip.MustParseAddrPort("198.18.0.2:4791")
	n := 0
	add := func(out bool, b bth.Packet, comments ...string) {
		n++
		p := &trace.Packet{
			Number: n, Part: 1, Parts: 1, Time: time.Unix(1, int64(n)), Src: here, Dst: there, BTH: b, Len: len(b.Append(nil)) + bth.ICRCLen,
			ICRC: trace.ICRC{Verdict: trace.Right}, Comments: comments, IP: trace.IP{Version: 4, HopLimit: 64},
		}
		if !out {
			p.Src, p.Dst = there, here
		}
		a.Add(p)
	}
	send := func(psn bth.PSN) bth.Packet {
		return bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, DestQP: 0x12, PSN: psn, AckReq: true, Payload: []byte("data")}
	}
	ack := func(psn bth.PSN) bth.Packet {
		return bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 0x11, PSN: psn, AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
	}
	add(true, send(5), "of somebody else", trace.RequestNote("wr_id 1 SEND"))
	add(true, send(6), trace.RequestNote("wr_id 2 SEND"))
	add(true, send(7), trace.RequestNote("wr_id 3 SEND"))
	add(false, ack(6), trace.CompletionNote(5, "wr_id 1 success"), trace.CompletionNote(6, "wr_id 2 success"))
	add(true, send(7), trace.RequestNote("wr_id 3 SEND"), trace.CompletionNote(7, "wr_id 3 failed"), trace.CompletionNote(99, "none"), "completion of PSN x: y")
	a.Finish()
	for i, want := range [][2]string{{"wr_id 1 SEND", "wr_id 1 success"}, {"wr_id 2 SEND", "wr_id 2 success"}, {"wr_id 3 SEND", "wr_id 3 failed"}} {
		if i >= len(done) || done[i].WR != want[0] || done[i].WC != want[1] {
			t.Errorf("message %d of %d: want %q", i, len(done), want)
		}
	}
}
