package tracecmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/trace"
)

// captureOf returns a pcap of packets between two hosts, one per frame.
func captureOf(t *testing.T, packets ...bth.Packet) []byte {
	t.Helper()
	var file bytes.Buffer
	w := pcapgo.NewWriterNanos(&file)
	if err := w.WriteFileHeader(1<<16, layers.LinkTypeRaw); err != nil {
		t.Fatal(err)
	}
	for i, p := range packets {
		h := bth.Header4{Src: [4]byte{198, 18, 0, 2}, Dst: [4]byte{198, 18, 0, 3}, FlagsFragment: 0x4000,
			SrcPort: 50000, DstPort: 4791}
		b := p.Append(nil)
		h.UDPLen = bth.UDPHeaderLen + len(b) + bth.ICRCLen
		b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
		n := bth.IPv4HeaderLen + h.UDPLen
		ip := append([]byte{0x45, 0, byte(n >> 8), byte(n), 0, 0, 0x40, 0, 64, 17, 0, 0}, 198, 18, 0, 2, 198, 18, 0, 3)
		ip = append(ip, 0xc3, 0x50, 0x12, 0xb7, byte(h.UDPLen>>8), byte(h.UDPLen), 0, 0)
		ip = append(ip, b...)
		info := gopacket.CaptureInfo{Timestamp: time.Unix(1700000000, int64(i)*1e6), CaptureLength: len(ip),
			Length: len(ip)}
		if err := w.WritePacket(info, ip); err != nil {
			t.Fatal(err)
		}
	}
	return file.Bytes()
}

func aConversation(t *testing.T) []byte {
	return captureOf(t,
		bth.Packet{Opcode: bth.RCSendOnly, PKey: 0xffff, DestQP: 0x11, PSN: 5, AckReq: true, Payload: []byte("secret")},
		bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 0x12, PSN: 5,
			AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 1}},
		bth.Packet{Opcode: bth.RCAck, PKey: 0xffff, DestQP: 0x12, PSN: 6,
			AETH: bth.AETH{Syndrome: bth.NakRemoteAccess, MSN: 1}},
	)
}

func TestTraceShowsTheCaptureOfAFileOrAPipe(t *testing.T) {
	captured := aConversation(t)
	path := filepath.Join(t.TempDir(), "a.pcap")
	if err := os.WriteFile(path, captured, 0o600); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, line := range []string{"trace " + path, "trace -", "trace"} {
		w := newWorld()
		w.Stdin = bytes.NewReader(captured)
		r := w.Run(t.Context(), line)
		clitest.MustSucceed(t, line, r)
		texts = append(texts, r.Stdout.String())
	}
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Errorf("%q", texts)
	}
	if strings.Count(texts[0], "\n") != 4 || !strings.Contains(texts[0], "SEND #1 of 6 bytes") ||
		strings.Contains(texts[0], "secret") {
		t.Errorf("%s", texts[0])
	}
}

func TestTraceShowsWhatIsAskedFor(t *testing.T) {
	for _, tt := range []struct{ line, has, hasNot string }{
		{"trace --payload", "secret", ""},
		{"trace -v", "Packet Sequence Number (PSN)", "secret"},
		{"trace --hex", "[0009] 00 00 05", "secret"},
		{"trace --filter nak", "NAK remote access error", "SEND #1"},
		{"trace --filter op==send", "SEND #1 of 6 bytes", "acknowledges"},
		{"trace --filter error", "error: refuses PSN 6: NAK remote access error", "SEND #1"},
		{"trace --explain", "│ Packet sequence numbers", ""},
		{"trace --messages", "1.1          0.000000  SEND ", "acknowledges"},
		{"trace --flows", "flow 1  RC  198.18.0.2/", "acknowledges"},
		{"trace --messages --flows", "1 message, 1 packet, 6 bytes", ""},
		{"trace --messages --filter nak", "", "SEND"},
		{"trace --messages --filter op==send", "SEND", ""},
		{"trace --flows --filter nak", "flow 2", "flow 1"},
		{"trace --filter nak", "0.002000", ""}, // since the first frame, whether it is shown or not
	} {
		w := newWorld()
		w.Stdin = bytes.NewReader(aConversation(t))
		r := w.Run(t.Context(), tt.line)
		clitest.MustSucceed(t, tt.line, r)
		if out := r.Stdout.String(); !strings.Contains(out, tt.has) || tt.hasNot != "" &&
			strings.Contains(out, tt.hasNot) {
			t.Errorf("%s:\n%s", tt.line, out)
		}
	}
}

func TestTraceSaysWhatIsWrong(t *testing.T) {
	captured := aConversation(t)
	other := bytes.Clone(captured)
	other[24+16+22] = 9 // another port
	for _, tt := range []struct {
		name, line string
		file       []byte
		code       int
		out        int // number of lines
		err        string
	}{
		{"no capture", "trace", []byte("hello world"), 1, 0, "standard input: unknown format: starts with 68656c6c;"},
		{"no such file", "trace /nowhere/at/all", nil, 1, 0, "/nowhere/at/all"},
		{"cut", "trace", captured[:len(captured)-5], 1, 2,
			"standard input: frame 3, at byte 156: the file ends inside a frame"},
		{"two files that do not exist", "trace a b", nil, 1, 0, "a: no such file"},
		{"filter", "trace --filter qpx==1", nil, 2, 0,
			`gorxe: --filter, at character 1: unknown field "qpx", did you mean "qp"?`},
		{"finding", "trace --filter finding==nosuch", nil, 2, 0,
			`gorxe: --filter, at character 10: finding: "nosuch" is unknown; the values are icrc_wrong, `},
		{"nothing chosen", "trace --filter psn==99", captured, 0, 0, "the filter matches none of 3 packets"},
		{"nothing there", "trace", captureOf(t), 0, 0, "no RoCEv2 packets in 0 frames"},
		{"something else", "trace --filter frame==1", other, 0, 0, "the filter matches none of 2 packets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.Stdin = bytes.NewReader(tt.file)
			r := w.Run(t.Context(), tt.line)
			if r.Code != tt.code || strings.Count(r.Stdout.String(), "\n") != tt.out ||
				!strings.Contains(r.Stderr.String(), tt.err) {
				t.Errorf("%v", r)
			}
		})
	}
}

func TestTraceCountsWhatItLeavesOut(t *testing.T) {
	captured := captureOf(t, bth.Packet{Opcode: bth.RCSendOnly})
	captured[24+16+9] = 6 // TCP
	w := newWorld()
	w.Stdin = bytes.NewReader(captured)
	r := w.Run(t.Context(), "trace")
	want := "standard input: no RoCEv2 packets in 1 frame\nstandard input: 1 frame of other protocols: TCP 1\n"
	if r.Code != 0 || r.Stderr.String() != want {
		t.Errorf("%v", r)
	}
}

// tracePipe starts 'gorxe trace' with a pipe to which in writes.
func tracePipe(t *testing.T) (r *clitest.Run, in *io.PipeWriter, interrupt context.CancelFunc) {
	out, in := io.Pipe()
	w := newWorld()
	w.Stdin = out
	ctx, interrupt := context.WithCancel(t.Context())
	return w.Start(ctx, "trace"), in, interrupt
}

// Frames are shown before the pipe ends.
func TestTraceShowsWhatAPipeHasSoFar(t *testing.T) {
	captured := aConversation(t)
	synctest.Test(t, func(t *testing.T) {
		r, in, _ := tracePipe(t)
		defer in.Close()
		if _, err := in.Write(captured[:len(captured)-5]); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := strings.Count(r.Stdout.String(), "\n"); n != 2 {
			t.Errorf("%d lines so far: %v", n, r)
		}
		if _, err := in.Write(captured[len(captured)-5:]); err != nil {
			t.Fatal(err)
		}
		in.Close()
		<-r.Done
		clitest.MustSucceed(t, "trace", r)
		if n := strings.Count(r.Stdout.String(), "\n"); n != 4 {
			t.Errorf("%d lines: %v", n, r)
		}
	})
}

// The program that writes the pipe is interrupted too and then writes its last frames.
func TestTraceReadsAPipeToItsEndWhenItIsInterrupted(t *testing.T) {
	captured := aConversation(t)
	synctest.Test(t, func(t *testing.T) {
		r, in, interrupt := tracePipe(t)
		synctest.Wait() // until it waits for the first bytes
		interrupt()
		synctest.Wait()
		if _, err := in.Write(captured); err != nil {
			t.Fatal(err)
		}
		in.Close()
		<-r.Done
		if n := strings.Count(r.Stdout.String(), "\n"); r.Code != app.ExitInterrupted || n != 4 {
			t.Errorf("%d lines: %v", n, r)
		}
	})
}

// An open pipe without data does not block the end.
func TestTraceEndsWhenItIsInterruptedAndAPipeIsSilent(t *testing.T) {
	captured := aConversation(t)
	synctest.Test(t, func(t *testing.T) {
		r, in, interrupt := tracePipe(t)
		if _, err := in.Write(captured); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begin := time.Now()
		interrupt()
		<-r.Done
		if n := strings.Count(r.Stdout.String(), "\n"); r.Code != app.ExitInterrupted || n != 4 ||
			time.Since(begin) != interruptGrace {
			t.Errorf("%d lines after %v: %v", n, time.Since(begin), r)
		}
		in.Close()
	})
}

func TestHelpExplainsEveryFinding(t *testing.T) {
	for _, k := range trace.Kinds() {
		if kindMeanings[k] == "" {
			t.Errorf("%s is not explained", k)
		}
	}
	if len(kindMeanings) != len(trace.Kinds()) {
		t.Errorf("%d explanations for %d findings", len(kindMeanings), len(trace.Kinds()))
	}
}

func TestTraceTellsOfCopies(t *testing.T) {
	captured := aConversation(t)
	twice := append(bytes.Clone(captured), captured[24:]...) // without the second header
	for line, want := range map[string]string{
		"trace --dedupe -": "standard input: left out 3 copies of packets\n",
		"trace -":          "",
	} {
		w := newWorld()
		w.Stdin = bytes.NewReader(twice)
		if r := w.Run(t.Context(), line); r.Code != 0 || r.Stderr.String() != want {
			t.Errorf("%s: %v", line, r)
		}
	}
}
