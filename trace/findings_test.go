package trace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

// The captures in testdata are from Linux rxe; see testdata/README.md. The expected values were
// found manually in a list of PSNs from tshark.

// analysed is an analysed capture of testdata: its packets by frame, its messages and flows.
type analysed struct {
	packets  map[int]trace.Packet
	messages []*trace.Message
	flows    []*trace.Flow
}

func analyse(t *testing.T, name string) analysed {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := analysed{packets: map[int]trace.Packet{}}
	a := trace.NewAnalyzer(trace.Options{
		Message: func(m *trace.Message) { r.messages = append(r.messages, m) },
		Flow:    func(f *trace.Flow) { r.flows = append(r.flows, f) },
	})
	readAll(t, file, func(_ *capture.Frame, p *trace.Packet) {
		a.Add(p)
		r.packets[p.Number] = *p
	})
	a.Finish()
	return r
}

// repetition is a retransmission in loss_write: its first and last frame sent by host 198.18.0.2.
type repetition struct {
	first, last int
	kind        trace.Kind
}

// Frame 100 is the first with a new PSN, as are 270 and 430. The retransmission from frame 220
// starts before that from frame 187 has finished.
var repetitions = []repetition{
	{72, 99, trace.AfterNAK}, {187, 219, trace.AfterNAK}, {220, 269, trace.AfterTimeout}, {367, 429, trace.AfterNAK},
	{446, 500, trace.AfterTimeout},
}

func repetitionOf(frame int) *repetition {
	for i := range repetitions {
		if r := &repetitions[i]; r.first <= frame && frame <= r.last {
			return r
		}
	}
	return nil
}

func TestEveryFindingInACaptureWithLosses(t *testing.T) {
	// All findings except those within a retransmission.
	want := map[int][]string{
		27:  {"no_migreq [20 27]"},
		45:  {"gap [44 45] PSN 9803639 is"},
		47:  {"gap [46 47] PSN 9803642 is"},
		66:  {"gap [65 66] PSN 9803661 is"},
		68:  {"nak_sequence [45 68] PSN 9803639 is missing at the responder: it was lost before frame 45,"},
		72:  {"again_after_nak [68 72] PSN 9803639 is retransmitted because of the sequence NAK in frame 68"},
		136: {"gap [135 136] PSN 9803701 is"},
		153: {"gap [152 153] PSN 9803718 is"},
		172: {"gap [171 172] PSN 9803738 is"},
		185: {"nak_sequence [136 185] PSN 9803701 is missing at the responder: it was lost before frame 136,"},
		187: {"again_after_nak [185 187] PSN 9803701 is"},
		220: {"again_after_timeout [187 220] PSN 9803701 is retransmitted 3.27ms after frame 187 without a NAK: the requester's timer expired, although the capture has no gap up to PSN 9803733:"},
		228: {"gap [227 228] PSN 9803709 is"},
		258: {"no_migreq [53 258]"},
		269: {"gap [268 269] PSN 9803750 is"},
		277: {"gap [276 277] PSN 9803757 is"},
		365: {"nak_sequence [269 365] PSN 9803750 is missing at the responder: it was lost before frame 269,"},
		367: {"again_after_nak [184 365 367] PSN 9803750 is"},
		371: {"gap [370 371] PSN 9803754 is"},
		430: {"gap [429 430] PSN 9803814 is"},
		446: {"again_after_timeout [367 446] PSN 9803750 is retransmitted 5.33ms after frame 367 without a NAK: the requester's timer expired, although the capture has no gap up to PSN 9803753; the next PSN is missing since frame 371,"},
		461: {"nak_sequence [371 450 461] PSN 9803754 is missing at the responder: it was lost before frame 371 and retransmitted in frame 450"},
		463: {"gap [462 463] PSN 9803766 is"},
		471: {"gap [470 471] PSN 9803775 is"},
	}
	// Packets that were lost the first time first appear in a retransmission.
	late := map[int]bool{75: true, 94: true, 204: true, 256: true, 373: true}
	r := analyse(t, "loss_write.pcap.gz")
	if len(r.packets) != 480 {
		t.Fatalf("%d packets, want 480", len(r.packets))
	}
	for frame := 1; frame <= 500; frame++ {
		p, ok := r.packets[frame]
		if !ok {
			continue
		}
		rep := repetitionOf(frame)
		if p.Role != trace.Request {
			rep = nil
		}
		if p.Again != (rep != nil) {
			t.Errorf("frame %d: Again is %v", frame, p.Again)
		}
		for _, w := range want[frame] {
			if !takeFinding(&p, w) {
				t.Errorf("frame %d: no finding %q in %+v", frame, w, p.Findings)
			}
		}
		if rep != nil && frame != rep.first {
			w := fmt.Sprintf("%s [%d %d] PSN %d", rep.kind, rep.first, frame, p.BTH.PSN)
			if late[frame] {
				w += ", missing until now,"
			} else {
				w += " is retransmitted, too"
			}
			if !takeFinding(&p, w) {
				t.Errorf("frame %d: no finding %q in %+v", frame, w, p.Findings)
			}
		}
		for _, f := range p.Findings {
			t.Errorf("frame %d has a finding that is not one: %+v", frame, f)
		}
	}
}

// takeFinding removes a finding of p that matches want: its kind, its frames, its text.
func takeFinding(p *trace.Packet, want string) bool {
	for i, f := range p.Findings {
		if strings.HasPrefix(fmt.Sprintf("%s %v %s", f.Kind, f.Frames, f.Text), want) {
			p.Findings = append(p.Findings[:i:i], p.Findings[i+1:]...)
			return true
		}
	}
	return false
}

func TestWhatTheCaptureWithLossesAddsUpTo(t *testing.T) {
	r := analyse(t, "loss_write.pcap.gz")
	if len(r.flows) != 1 {
		t.Fatalf("%d flows", len(r.flows))
	}
	f := r.flows[0]
	type sums struct{ Packets, Lost, Again, NAKs, Timeouts, RNRs, Messages, Payload uint64 }
	// All PSNs up to 9803765, the last before frame 463, arrived in order.
	want := sums{Packets: 480, Lost: 13, Again: 227, NAKs: 4, Timeouts: 2, Messages: 14,
		Payload: (9803766 - 9803614) * 4096}
	if diff := cmp.Diff(want, sums{f.Packets, f.LostBefore, f.Again, f.NAKs, f.Timeouts, f.RNRs, f.Messages,
		f.Payload}); diff != "" {
		t.Error(diff)
	}
	if f.MTU != 4096 || f.MTUExact || f.BeganBefore || f.CM != nil {
		t.Errorf("%+v", f)
	}
	done := 0
	for _, m := range r.messages {
		if m.Verb != "WRITE" || m.Bytes != 65536 {
			t.Errorf("%+v", m)
		}
		if m.Done {
			done++
		}
	}
	if len(r.messages) != 14 || done != 8 {
		t.Errorf("%d messages, %d of them done; want 14 and 8", len(r.messages), done)
	}
	// rxe acknowledges the newest PSN for a duplicate: of the 33 PSNs in the retransmission from
	// frame 220 it had 32.
	n := 0
	for _, p := range r.packets {
		if p.Role == trace.Ack && p.BTH.PSN == 9803733 {
			n++
			again := p.Meaning ==
				"acknowledges up to PSN 9803733, which was acknowledged before: response to a duplicate"
			if again != (p.Number != 273) {
				t.Errorf("frame %d: %s", p.Number, p.Meaning)
			}
		}
	}
	if n != 32 {
		t.Errorf("%d acknowledgements of PSN 9803733, want 32", n)
	}
}

func TestEveryOperationOfRxe(t *testing.T) {
	r := analyse(t, "rcops.pcap.gz")
	type message struct {
		Verb     string
		Bytes    uint64
		Packets  int
		Frames   [2]int
		Done     bool
		Failed   string
		From, To int // queue pair numbers
	}
	const access, notReady = "NAK remote access error",
		"the receiver was not ready 4 consecutive times; the capture ends before a retry is certainly due"
	want := []message{
		{"WRITE", 4001, 4, [2]int{8, 12}, true, "", 0x34, 0x88},
		{"WRITE with immediate", 3000, 3, [2]int{25, 28}, true, "", 0x35, 0x89},
		{"READ", 4001, 4, [2]int{38, 42}, true, "", 0x36, 0x8a},
		{"SEND", 2500, 3, [2]int{51, 54}, true, "", 0x37, 0x8b},
		{"SEND with immediate", 7, 1, [2]int{61, 62}, true, "", 0x38, 0x8c},
		{"CAS", 8, 1, [2]int{69, 70}, true, "", 0x39, 0x8d},
		{"FAA", 8, 1, [2]int{79, 80}, true, "", 0x3a, 0x8e},
		{"WRITE", 100, 1, [2]int{89, 90}, false, access, 0x3b, 0x8f},
		{"READ", 4096, 0, [2]int{97, 98}, false, access, 0x3c, 0x90},
		{"WRITE", 100, 1, [2]int{105, 106}, false, access, 0x3d, 0x91},
		{"SEND", 5000, 5, [2]int{113, 118}, false, "NAK remote operational error", 0x3e, 0x92},
		{"SEND", 100, 1, [2]int{125, 131}, false, notReady, 0x3f, 0x93},
	}
	var got []message
	for _, m := range r.messages {
		e := m.Flow.Ends
		got = append(got, message{m.Verb, m.Bytes, m.Packets, m.Frames, m.Done, m.Failed, int(e[m.From].QPN),
			int(e[1-m.From].QPN)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	findings := map[int][]string{
		38:  {"no_migreq"},
		62:  {"no_migreq"},
		90:  {"nak_error [89 90] refuses the WRITE of frame 89 with NAK remote access error (100 bytes at address 0x3d15d000, R_Key 0x65b1): invalid key, address range outside the region, or access not permitted; key 0x65b1 was not used successfully before in this capture;"},
		98:  {"nak_error [97 98] refuses the READ of frame 97 with NAK remote access error (4096 bytes at address 0x3d16cf9c, R_Key 0x65eb): invalid key, address range outside the region, or access not permitted; key 0x65eb was used for 0x3d15d000 to 0x3d15dfa1 only, last in frame 80, so this may be out of bounds;"},
		106: {"nak_error [105 106] refuses the WRITE of frame 105 with NAK remote access error (100 bytes at address 0x3d16e000, R_Key 0x6625)"},
		118: {"nak_error [113 118] refuses the SEND of frame 113 with NAK remote operational error (5000 bytes)"},
		126: {"rnr_nak [125 126] no receive is posted for the SEND of frame 125: the requester must wait 640µs before it retries"},
		127: {"again_after_rnr [125 126 127] PSN 16777210 is retransmitted 7.06ms after the RNR NAK in frame 126"},
		128: {"rnr_nak [127 128]"},
		129: {"again_after_rnr [127 128 129]"},
		130: {"rnr_nak [129 130]"},
		131: {"again_after_rnr [129 130 131]"},
		132: {"rnr_nak [131 132]"},
	}
	for frame, p := range r.packets {
		for _, w := range findings[frame] {
			if !takeFinding(&p, w) {
				t.Errorf("frame %d: no finding %q in %+v", frame, w, p.Findings)
			}
		}
		for _, f := range p.Findings {
			t.Errorf("frame %d has a finding that is not one: %+v", frame, f)
		}
	}
	if len(r.flows) != len(want) {
		t.Errorf("%d flows, want one for each message", len(r.flows))
	}
}
