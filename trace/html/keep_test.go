package html_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/trace"
	tracehtml "github.com/gorxe/gorxe/trace/html"
	"github.com/gorxe/gorxe/trace/internal/scene"
)

// keptFrames returns the frames of the packets in a page, and checks that the page says how many
// are missing before each.
func keptFrames(t *testing.T, max int, packets []*trace.Packet) map[int]bool {
	t.Helper()
	_, doc := dataOf(t, render(t, tracehtml.Options{Max: max}, packets))
	frames := map[int]bool{}
	last, left := 0, 0
	for _, v := range doc["packets"].([]any) {
		k := v.(map[string]any)
		n := int(k["n"].(float64))
		frames[n] = true
		o, _ := k["o"].(float64)
		if n-last-1 != int(o) {
			t.Errorf("frame %d follows frame %d: %v are said to be left out", n, last, o)
		}
		last = n
		left += int(o)
	}
	if got, want := int(doc["leftOut"].(float64)), len(packets)-len(frames); got != want {
		t.Errorf("%d are said to be left out, want %d", got, want)
	}
	if after := len(packets) - last; left+after != len(packets)-len(frames) {
		t.Errorf("%d left out before packets and %d after", left, after)
	}
	if len(frames) > max {
		t.Errorf("%d packets, the maximum is %d", len(frames), max)
	}
	return frames
}

// quietly returns a scene of n packets of two alternating flows without findings.
func quietly(n int) *scene.Script {
	s := scene.Many(0, 2)
	s.Packets = nil
	for i := range n {
		s.Packet(s.Flows[i%2], 0, trace.Request, bth.Packet{Opcode: bth.RCWriteMiddle, PSN: bth.PSN(i)}, "")
	}
	return s
}

// Header fields of upper-layer protocols are in the payload, which the page does not keep.
func TestAPageHasTheHeadersOfUpperLayerProtocols(t *testing.T) {
	p := tracehtml.New(tracehtml.Options{Max: 10})
	ofFile(t, "../testdata/ulp/nvme.pcap")(func(k *trace.Packet) {
		if k.Message != nil && k.Message.ULP != nil {
			add(t, p, k)
		}
	})
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	raw, doc := dataOf(t, b.String())
	var groups []string
	for _, k := range doc["packets"].([]any) {
		list, _ := k.(map[string]any)["h"].([]any)
		for _, g := range list {
			groups = append(groups, g.(map[string]any)["n"].(string))
		}
	}
	if !strings.Contains(strings.Join(groups, "\n"), "NVMe") || !strings.Contains(raw, "Upper layer") {
		t.Errorf("the headers are %q", groups)
	}
}

func warn(k *trace.Packet, kind trace.Kind, level trace.Level, frames ...int) {
	k.Findings = append(k.Findings, trace.Finding{Kind: kind, Level: level, Text: "x", Frames: frames})
}

func TestALargePageKeepsWhatIsAroundFindings(t *testing.T) {
	s := quietly(20_000)
	const far, cause = 15_000, 14_800
	warn(s.Packets[far-1], trace.AfterTimeout, trace.Warning, cause, far)
	frames := keptFrames(t, 2000, s.Packets)
	for _, c := range []struct {
		frame int
		want  bool
	}{
		{1, true}, {100, true}, // the first
		{far, true}, {cause, true}, {cause - 2, false},
		{far - 2, true}, {far - 32, true}, {far - 36, false}, {far - 1, false}, // of the same flow only
		{far + 2, true}, {far + 16, true}, {far + 18, false}, {far + 1, false},
		{19_999, false},
	} {
		if frames[c.frame] != c.want {
			t.Errorf("frame %d is kept: %v, want %v", c.frame, frames[c.frame], c.want)
		}
	}
	if len(frames) != 2000 {
		t.Errorf("%d packets, the page has room for 2000", len(frames))
	}
}

func TestErrorsGoBeforeRepeatedWarnings(t *testing.T) {
	s := quietly(10_000)
	for i, k := range s.Packets {
		if i%3 == 0 {
			warn(k, trace.ECNMarked, trace.Warning, k.Number)
		}
	}
	s.Packets[9_000].Err = fmt.Errorf("broken")
	warn(s.Packets[9_500], trace.ErrorNAK, trace.Error, 9_501)
	frames := keptFrames(t, 200, s.Packets)
	for _, f := range []int{1, 4, 7, 9_001, 9_001 - 2, 9_501, 9_501 + 2} {
		if !frames[f] {
			t.Errorf("frame %d is left out", f)
		}
	}
}

// Whatever the captures are, the page never exceeds its maximum and says what it left out.
func TestAPageKeepsItsMaximum(t *testing.T) {
	for _, max := range []int{1, 2, 3, 7, 64, 1000} {
		for _, n := range []int{0, 1, max, max + 1, 3*max + 100, 10 * max} {
			t.Run(fmt.Sprint(max, "of", n), func(t *testing.T) {
				s := quietly(n)
				for i, k := range s.Packets {
					if i%5 == 3 {
						warn(k, trace.Kind(fmt.Sprint("k", i%50)), trace.Level(i%4), k.Number-1, k.Number)
					}
				}
				if got := len(keptFrames(t, max, s.Packets)); got != min(max, n) {
					t.Errorf("%d packets", got)
				}
			})
		}
	}
}

func TestAFullPageAllocatesNothingForQuietPackets(t *testing.T) {
	s := quietly(4_000)
	p := tracehtml.New(tracehtml.Options{Max: 1000})
	add(t, p, s.Packets...)
	k := s.Packets[100]
	if n := testing.AllocsPerRun(5000, func() { add(t, p, k) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// chunks counts the bytes of the largest write.
type chunks struct{ all, largest int }

func (c *chunks) Write(b []byte) (int, error) {
	c.all += len(b)
	c.largest = max(c.largest, len(b))
	return len(b), nil
}

func TestAPageIsWrittenInPieces(t *testing.T) {
	if race.Enabled {
		t.Skip("smaller captures take the same way: the race detector finds nothing more in many packets")
	}
	p := tracehtml.New(tracehtml.Options{})
	add(t, p, scene.Many(20_000, 100).Packets...)
	var c chunks
	if _, err := p.WriteTo(&c); err != nil {
		t.Fatal(err)
	}
	if c.largest > 1<<20 || c.all < 4<<20 {
		t.Errorf("%d bytes, the largest write has %d", c.all, c.largest)
	}
	t.Logf("%d bytes for 20,000 packets", c.all)
	var again bytes.Buffer
	if _, err := p.WriteTo(&again); err != nil || again.Len() != c.all {
		t.Errorf("the second time %d bytes, %v", again.Len(), err)
	}
}

func BenchmarkPacket(b *testing.B) {
	s := scene.Many(10_000, 16)
	p := tracehtml.New(tracehtml.Options{Max: 2000})
	b.ReportAllocs()
	for i := range b.N {
		if err := p.Packet(s.Packets[i%len(s.Packets)]); err != nil {
			b.Fatal(err)
		}
	}
}
