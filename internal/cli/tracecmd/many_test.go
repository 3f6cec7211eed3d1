package tracecmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// exchange returns frames that the hosts 198.18.0.1 and .2 exchange. ACKs are from the second.
func exchange(step time.Duration, packets ...bth.Packet) (all []capture.Frame) {
	for i, p := range packets {
		hosts := [2][4]byte{{198, 18, 0, 1}, {198, 18, 0, 2}}
		if p.Opcode.Info().Response() {
			hosts[0], hosts[1] = hosts[1], hosts[0]
		}
		h := bth.Header4{Src: hosts[0], Dst: hosts[1], ID: uint16(i + 1000), FlagsFragment: 0x4000, SrcPort: 50000,
			DstPort: 4791}
		p.PKey, p.MigReq = 0xffff, true
		b := p.Append(nil)
		h.UDPLen = bth.UDPHeaderLen + len(b) + bth.ICRCLen
		b = bth.AppendICRC(b, bth.ICRC(h.Seed(), b))
		n := bth.IPv4HeaderLen + h.UDPLen
		ip := []byte{0x45, 0, byte(n >> 8), byte(n), byte(h.ID >> 8), byte(h.ID), 0x40, 0, 64, 17, 0, 0}
		ip = append(append(ip, h.Src[:]...), h.Dst[:]...)
		ip = append(ip, 0xc3, 0x50, 0x12, 0xb7, byte(h.UDPLen>>8), byte(h.UDPLen), 0, 0)
		ip = append(ip, b...)
		all = append(all, capture.Frame{Number: i + 1, Time: time.Unix(1700000000, 0).Add(time.Duration(i) * step),
			Link: capture.LinkRaw, Length: len(ip), Data: ip})
	}
	return all
}

// twoCaptures writes, into a new directory, a.pcapng with 30 SENDs and their ACKs, of which number
// 10 is retransmitted after a NAK, and b.pcapng, a capture of the same packets 2 s later by its
// clock without the SEND that was lost. c.pcapng is one behind b.pcapng, and late.pcapng has other
// packets. The two halves of a.pcapng are a0.pcapng and a1.pcapng.
func twoCaptures(t *testing.T) (dir string) {
	t.Helper()
	send := func(s bth.PSN) bth.Packet {
		return bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x11, PSN: s, AckReq: true, Payload: []byte("data")}
	}
	ack := func(s bth.PSN, syn bth.Syndrome) bth.Packet {
		return bth.Packet{Opcode: bth.RCAck, DestQP: 0x12, PSN: s, AETH: bth.AETH{Syndrome: syn, MSN: uint32(s)}}
	}
	var packets []bth.Packet
	for s := range bth.PSN(30) {
		packets = append(packets, send(s))
		switch s {
		case 10:
		case 11:
			packets = append(packets, ack(10, bth.NakPSNSequence), send(10), ack(10, bth.AckUnlimited), send(11),
				ack(11, bth.AckUnlimited))
		default:
			packets = append(packets, ack(s, bth.AckUnlimited))
		}
	}
	dir = t.TempDir()
	files := map[string]*bytes.Buffer{"a": {}, "a0": {}, "a1": {}, "b": {}, "c": {}, "late": {}}
	writers := map[string]*pcapng.Writer{}
	for name, b := range files {
		writers[name] = pcapng.NewWriter(b, pcapng.Options{})
	}
	for _, f := range exchange(time.Millisecond, packets...) {
		half := "a0"
		if f.Number > 30 {
			half = "a1"
		}
		err := errors.Join(writers["a"].Frame(&f), writers[half].Frame(&f))
		if f.Number != 21 {
			f.Time = f.Time.Add(2*time.Second + 20*time.Microsecond)
			if f.Data[15] == 2 { // from the responder
				f.Time = f.Time.Add(-40 * time.Microsecond)
			}
			err = errors.Join(err, writers["b"].Frame(&f))
			if f.Time = f.Time.Add(10 * time.Microsecond); f.Data[15] == 2 {
				f.Time = f.Time.Add(-20 * time.Microsecond)
			}
			err = errors.Join(err, writers["c"].Frame(&f))
		}
		if f.Number > 60 {
			f.Data = append([]byte(nil), f.Data...)
			f.Time, f.Data[4] = f.Time.Add(time.Hour), 0xff // another IP identification
			err = errors.Join(err, writers["late"].Frame(&f))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, b := range files {
		if err := errors.Join(writers[name].Flush(), os.WriteFile(filepath.Join(dir, name+".pcapng"), b.Bytes(),
			0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("hello world"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTraceOfSeveralFiles(t *testing.T) {
	dir := twoCaptures(t)
	for _, tt := range []struct {
		name, line string
		code       int
		out, err   string // parts of the outputs
		lines      int    // of standard output, 0 for any
	}{
		{"two captures of the same traffic", "trace DIR/a.pcapng DIR/b.pcapng", 0,
			"lost between A and B", "have the same packets (62 in samples of 62): they are joined\n", 0},
		{"where and which frames", "trace DIR/a.pcapng DIR/b.pcapng", 0,
			"request PSN 10: packet A:21, missing before B:21, NAK A:23 B:22, retransmitted A:24 B:23\n", "", 0},
		{"JSON", "trace --json DIR/a.pcapng DIR/b.pcapng", 0,
			`"type":"loss","where":"between"`, "they are joined", 7},
		{"forced to one", "trace --concatenate --flows DIR/a.pcapng DIR/b.pcapng", 0, "flow 1", "frames 1 to 63: " +
			"DIR/a.pcapng\n", 0},
		{"rotated", "trace --flows DIR/a0.pcapng DIR/a1.pcapng", 0, "63 packets",
			"frames 1 to 30: DIR/a0.pcapng\nframes 31 to 63: DIR/a1.pcapng, its frames 1 to 33\n", 1},
		{"rotated, in the other order", "trace DIR/a1.pcapng DIR/a0.pcapng", 0, "SEND #1 of 4 bytes", "frames 1 to " +
			"30: DIR/a0.pcapng\n", 0},
		{"forced to join", "trace --join DIR/a0.pcapng DIR/a1.pcapng", 0, "while only one capture ran", "", 0},
		{"a flag that has no meaning for a join", "trace --flows DIR/a.pcapng DIR/b.pcapng", app.ExitUsage, "",
			"gorxe: --flows is for one capture: omit it, or read the captures as one with --concatenate " +
				"(they have the same packets)\n", 0},
		{"with --join", "trace --join --filter nak DIR/a.pcapng DIR/b.pcapng", app.ExitUsage, "",
			"gorxe: --filter is for one capture: omit it, or read the captures as one with --concatenate " +
				"(--join)\n", 0},
		{"both flags", "trace --join --concatenate a b", app.ExitUsage, "", "gorxe: give --join or --concatenate, " +
			"not both\n", 0},
		{"join of one", "trace --join a", app.ExitUsage, "", "gorxe: --join takes several captures, not 1\n", 0},
		{"one as several", "trace --concatenate a", app.ExitUsage, "", "gorxe: --concatenate takes several captures, " +
			"not 1\n", 0},
		{"standard input", "trace - a", app.ExitUsage, "", "gorxe: standard input cannot be one of several " +
			"captures", 0},
		{"an interface and files", "trace -i eth0 a b", app.ExitUsage, "",
			`gorxe: -i eth0 captures: leave the file "a" out`, 0},
		{"join of nine", "trace --join a b c d e f g h i", app.ExitUsage, "", "gorxe: --join takes up to 8 captures, " +
			"not 9\n", 0},
		{"three captures of the same traffic", "trace DIR/a.pcapng DIR/b.pcapng DIR/c.pcapng", 0,
			"        1  lost between DIR/a.pcapng and DIR/b.pcapng\n        0  lost between DIR/b.pcapng and DIR/c.pcapng\n",
			"DIR/b.pcapng and DIR/c.pcapng have the same packets (62 in samples of 62): they are joined\n", 0},
		{"three captures in another order than that of the path", "trace DIR/b.pcapng DIR/a.pcapng DIR/c.pcapng", 1, "",
			"the captures are not in the order of the path: packets from 198.18.0.1 to 198.18.0.2 pass DIR/a.pcapng " +
				"before DIR/c.pcapng", 0},
		{"three captures, as JSON", "trace --json DIR/a.pcapng DIR/b.pcapng DIR/c.pcapng", 0,
			`{"type":"path","captures":["DIR/a.pcapng","DIR/b.pcapng","DIR/c.pcapng"],"lost":[0,1,0,0],"lost_unknown":0}`,
			"", 0},
		{"two of three captures have the same traffic", "trace DIR/a.pcapng DIR/b.pcapng DIR/late.pcapng", 1, "",
			"DIR/a.pcapng and DIR/b.pcapng have the same packets (62 in samples of 62), but others of the captures do not",
			0},
		{"not a file", "trace DIR DIR/a.pcapng", app.ExitUsage, "", "is not a regular file", 0},
		{"no such file", "trace DIR/none DIR/a.pcapng", 1, "", "DIR/none: no such file", 0},
		{"not a capture", "trace DIR/a.pcapng DIR/text", 1, "", "DIR/text: unknown format", 0},
		{"an output that is an input", "trace --concatenate DIR/a.pcapng DIR/a1.pcapng --pcapng DIR/a1.pcapng", 1, "",
			"that is the capture itself", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := strings.NewReplacer("DIR", dir)
			r := newWorld().Run(t.Context(), in.Replace(tt.line))
			if r.Code != tt.code || !strings.Contains(r.Stdout.String(), in.Replace(tt.out)) ||
				!strings.Contains(r.Stderr.String(), in.Replace(tt.err)) {
				t.Errorf("%v", r)
			}
			if n := strings.Count(r.Stdout.String(), "\n"); tt.lines > 0 && n != tt.lines {
				t.Errorf("%d lines: %v", n, r)
			}
		})
	}
}

// Both halves of a rotated capture give the same text as the whole one.
func TestARotatedCaptureReadsLikeAWholeOne(t *testing.T) {
	dir := twoCaptures(t)
	whole := told(t, dir+"/a.pcapng")
	line := "trace " + dir + "/a1.pcapng " + dir + "/a0.pcapng"
	r := newWorld().Run(t.Context(), line)
	if diff := cmp.Diff(whole, r.Stdout.String()); r.Code != 0 || diff != "" {
		t.Errorf("code %d\n%s", r.Code, diff)
	}
}

// A directory of captures may have been made by someone else.
func TestNamesOfCapturesCannotControlTheTerminal(t *testing.T) {
	dir := twoCaptures(t)
	const evil = "\x1b[2J"
	for _, name := range []string{"a", "b", "a0", "a1"} {
		if err := os.Rename(filepath.Join(dir, name+".pcapng"), filepath.Join(dir, evil+name+".pcapng")); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"E/a.pcapng E/b.pcapng", "--json E/a.pcapng E/b.pcapng", "E/a0.pcapng E/a1.pcapng",
		"--summary E/a.pcapng", "--concatenate E/a.pcapng E/b.pcapng", "E/a.pcapng E/b.pcapng E/a0.pcapng",
		"E/a.pcapng text"} {
		r := newWorld().Run(t.Context(), "trace "+strings.ReplaceAll(line, "E/", dir+"/"+evil))
		if out := r.Stdout.String() + r.Stderr.String(); strings.Contains(out, "\x1b") {
			t.Errorf("%s: %q", line, out)
		}
	}
}
