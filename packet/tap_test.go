package packet_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/pipe"
)

func TestTapSeesBothDirectionsInOrder(t *testing.T) {
	n := pipe.NewNet()
	a, b := linktest.OpenPipe(t, n, "192.0.2.1"), linktest.OpenPipe(t, n, "192.0.2.2")
	var seen []string
	ta := packet.Tap(a, func(d packet.Direction, f packet.TapFrame) {
		seen = append(seen, fmt.Sprintf("%v %v>%v port %d id %d %#x ttl %d %s", d, f.Src, f.Dst, f.SrcPort, f.ID,
			f.FlagsFragment, f.HopLimit, f.Data))
	})
	linktest.MustSend(t, ta, b.Local(), "one", "two")
	linktest.RecvTexts(t, b, 2)
	linktest.MustSend(t, b, a.Local(), "three")
	linktest.RecvTexts(t, ta, 1)
	want := []string{
		"out 192.0.2.1>192.0.2.2 port 4791 id 1 0x4000 ttl 64 one",
		"out 192.0.2.1>192.0.2.2 port 4791 id 2 0x4000 ttl 64 two",
		"in 192.0.2.2>192.0.2.1 port 4791 id 1 0x4000 ttl 64 three",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if got := ta.Caps().Name; got != "tap(pipe)" {
		t.Errorf("name %q", got)
	}
	if got := ta.(packet.StatsReporter).Stats().TxFrames; got != 2 {
		t.Errorf("%d frames sent in the counts of the link below, want 2", got)
	}
}

// reluctant returns ErrReprepare for the frames from index 1 on at the first Send.
type reluctant struct {
	packet.Link
	Asked bool
}

func (l *reluctant) Send(b *packet.Batch) error {
	if !l.Asked {
		l.Asked = true
		b.Sent = 1
		return packet.ErrReprepare
	}
	return l.Link.Send(b)
}

func TestTapSeesNoFrameThatIsToBePreparedAgain(t *testing.T) {
	n := pipe.NewNet()
	var seen []string
	l := packet.Tap(&reluctant{Link: linktest.OpenPipe(t, n, "192.0.2.1")},
		func(_ packet.Direction, f packet.TapFrame) {
			seen = append(seen, string(f.Data))
		})
	b := packet.NewBatch(2)
	for _, s := range []string{"first", "second"} {
		f := b.AppendFrame()
		f.Path = &packet.Path{Dst: l.Local()}
		f.Payload = append(f.Payload, []byte(s))
	}
	for l.Prepare(b); l.Send(b) != nil; l.Prepare(b) {
	}
	if diff := cmp.Diff([]string{"first", "second"}, seen); diff != "" {
		t.Error(diff)
	}
}

func TestATapSeesOnlyWhileItIsOn(t *testing.T) {
	n := pipe.NewNet()
	var on atomic.Bool
	var seen []string
	a, b := linktest.OpenPipe(t, n, "192.0.2.1"), linktest.OpenPipe(t, n, "192.0.2.2")
	l := packet.TapWhile(a, &on, func(d packet.Direction, f packet.TapFrame) {
		seen = append(seen, fmt.Sprintf("%v %s", d, f.Data))
	})
	for _, text := range []string{"first", "second", "third"} {
		on.Store(text == "second")
		linktest.MustSend(t, l, b.Local(), text)
		linktest.RecvTexts(t, b, 1)
		linktest.MustSend(t, b, a.Local(), text)
		linktest.RecvTexts(t, l, 1)
	}
	if diff := cmp.Diff([]string{"out second", "in second"}, seen); diff != "" {
		t.Error(diff)
	}
	if got := l.Caps().Name; got != "pipe" {
		t.Errorf("name %q", got)
	}
}
