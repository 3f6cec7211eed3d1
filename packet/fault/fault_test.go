package fault_test

import (
	"errors"
	"fmt"
	"math/bits"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/pipe"
)

// faultRun sends frames through a fault link, in batches of each, in a synctest bubble of its
// own. It returns the frames received within the given time and the counts of the link.
func faultRun(t *testing.T, cfg fault.Config, frames, each int, wait time.Duration) (
	got []packet.Received, c fault.Counters) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := fault.New(linktest.OpenPipe(t, n, "192.0.2.1"), cfg), linktest.OpenPipe(t, n, "192.0.2.2")
		go func() {
			rb := packet.NewRecvBatch(8)
			for b.Recv(rb) == nil {
				for _, f := range rb.Frames {
					f.Data = slices.Clone(f.Data)
					got = append(got, f)
				}
			}
		}()
		for i := 0; i < frames; i += each {
			var texts []string
			for k := range each {
				texts = append(texts, frameText(i+k))
			}
			linktest.MustSend(t, a, b.Local(), texts...)
		}
		time.Sleep(wait)
		synctest.Wait()
		c, _ = a.Counters()
		a.Close()
		b.Close()
	})
	return got, c
}

func frameText(i int) string { return fmt.Sprintf("frame %04d", i) }

func textsOf(frames []packet.Received) (s []string) {
	for _, f := range frames {
		s = append(s, string(f.Data))
	}
	return s
}

func allTexts(n int) (s []string) {
	for i := range n {
		s = append(s, frameText(i))
	}
	return s
}

// about reports whether n of total is within a few standard deviations of the probability p.
func about(n uint64, total int, p float64) bool {
	mean := float64(total) * p
	return float64(n) > mean*0.7 && float64(n) < mean*1.3
}

func TestFaultDrop(t *testing.T) {
	const frames = 2000
	got, c := faultRun(t, fault.Config{Seed: 1, Drop: 0.25}, frames, 10, 0)
	if !about(c.Dropped, frames, 0.25) || uint64(len(got)) != frames-c.Dropped || c.Frames != frames {
		t.Errorf("%d frames arrived, counted %+v", len(got), c)
	}
	if !slices.IsSorted(textsOf(got)) {
		t.Error("the frames that arrive are out of order")
	}
}

// preparedLink records NoTrains of the batches that it prepares. It claims GSO but cannot send
// trains.
type preparedLink struct {
	packet.Link
	Lone []bool
}

func (l *preparedLink) Caps() packet.Caps {
	c := l.Link.Caps()
	c.GSO = true
	return c
}

func (l *preparedLink) Prepare(b *packet.Batch) {
	l.Lone = append(l.Lone, b.NoTrains)
	l.Link.Prepare(b)
}

// Faults on receive do not prevent a link from sending trains; faults on send do.
func TestFaultsInOneDirectionLeaveTheOtherAlone(t *testing.T) {
	for _, test := range []struct {
		Name       string
		Send, Recv fault.Config
		Lone       bool
	}{
		{"none", fault.Config{}, fault.Config{}, false},
		{"in what arrives", fault.Config{}, fault.Config{Drop: 0.5}, false},
		{"in what is sent", fault.Config{Duplicate: 0.5}, fault.Config{}, true},
	} {
		n := pipe.NewNet()
		below := &preparedLink{Link: linktest.OpenPipe(t, n, "192.0.2.1")}
		l, peer := fault.NewBoth(below, test.Send, test.Recv), linktest.OpenPipe(t, n, "192.0.2.2")
		linktest.MustSend(t, l, peer.Local(), "one", "two")
		if got := l.Caps().GSO; got == test.Lone {
			t.Errorf("%s: GSO is %v", test.Name, got)
		}
		if diff := cmp.Diff([]bool{test.Lone}, below.Lone); diff != "" {
			t.Errorf("%s: %s", test.Name, diff)
		}
		if sent, _ := l.Counters(); sent.Frames != 2 {
			t.Errorf("%s: %d frames counted, want 2", test.Name, sent.Frames)
		}
		if got := linktest.RecvTexts(t, peer, 2); got[0] != "one" {
			t.Errorf("%s: %q arrived", test.Name, got)
		}
		l.Close()
		if err := linktest.SendTo(t, l, peer.Local(), "three"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: after Close: %v", test.Name, err)
		}
		peer.Close()
	}
}

func TestFaultDuplicate(t *testing.T) {
	const frames = 1000
	got, c := faultRun(t, fault.Config{Seed: 1, Duplicate: 0.25}, frames, 100, 0)
	if !about(c.Duplicated, frames, 0.25) || uint64(len(got)) != frames+c.Duplicated {
		t.Errorf("%d frames arrived, counted %+v", len(got), c)
	}
	if diff := cmp.Diff(allTexts(frames), slices.Compact(textsOf(got))); diff != "" {
		t.Error(diff)
	}
}

func TestFaultReorderOvertakesWithinTheSpan(t *testing.T) {
	const frames, span = 1000, 3
	got, c := faultRun(t, fault.Config{Seed: 1, Reorder: 0.2, ReorderSpan: span}, frames, 1, time.Second)
	if !about(c.Reordered, frames, 0.2) {
		t.Errorf("counted %+v", c)
	}
	texts := textsOf(got)
	if slices.IsSorted(texts) {
		t.Error("nothing was reordered")
	}
	for i := range frames - 20 {
		at := slices.Index(texts, frameText(i))
		// Other delayed frames may precede it too, so a frame may be late by its span plus
		// theirs.
		if at < 0 || at > i+2*span+2 {
			t.Fatalf("frame %d is at place %d", i, at)
		}
	}
	slices.Sort(texts)
	if diff := cmp.Diff(allTexts(frames), texts); diff != "" {
		t.Error(diff)
	}
}

func TestFaultReorderReleasesTheLastFrame(t *testing.T) {
	for _, test := range []struct {
		Hold, Wait time.Duration
		Want       int
	}{
		{0, 2*time.Millisecond - 1, 0},
		{0, 2 * time.Millisecond, 1},
		{time.Second, time.Second - 1, 0},
		{time.Second, time.Second, 1},
	} {
		got, _ := faultRun(t, fault.Config{Reorder: 1, ReorderHold: test.Hold}, 1, 1, test.Wait)
		if len(got) != test.Want {
			t.Errorf("hold %v: %d frames after %v, want %d", test.Hold, len(got), test.Wait, test.Want)
		}
	}
}

func TestFaultFlushReleasesAll(t *testing.T) {
	n := pipe.NewNet()
	a, b := fault.New(linktest.OpenPipe(t, n, "192.0.2.1"), fault.Config{Delay: time.Hour}),
		linktest.OpenPipe(t, n, "192.0.2.2")
	linktest.MustSend(t, a, b.Local(), allTexts(200)...)
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(allTexts(200), linktest.RecvTexts(t, b, 200)); diff != "" {
		t.Error(diff)
	}
	linktest.MustSend(t, a, b.Local(), "too late")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.Flush(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Flush after Close: %v, want net.ErrClosed", err)
	}
}

func TestFaultCorruptFlipsOneBit(t *testing.T) {
	const frames = 200
	got, c := faultRun(t, fault.Config{Seed: 3, Corrupt: 0.5}, frames, 20, 0)
	if !about(c.Corrupted, frames, 0.5) || len(got) != frames {
		t.Fatalf("%d frames arrived, counted %+v", len(got), c)
	}
	changed, where := uint64(0), make(map[int]bool)
	for i, text := range textsOf(got) {
		flips := 0
		for k, want := range []byte(frameText(i)) {
			if x := want ^ text[k]; x != 0 {
				flips += bits.OnesCount8(x)
				where[k] = true
			}
		}
		switch flips {
		case 0:
		case 1:
			changed++
		default:
			t.Errorf("frame %d has %d bits flipped", i, flips)
		}
	}
	if changed != c.Corrupted {
		t.Errorf("%d frames changed, %d counted", changed, c.Corrupted)
	}
	if len(where) != len(frameText(0)) {
		t.Errorf("bits flipped in %d places of %d", len(where), len(frameText(0)))
	}
}

func TestFaultECNMark(t *testing.T) {
	const frames = 400
	got, c := faultRun(t, fault.Config{Seed: 3, ECNMark: 0.5}, frames, 20, 0)
	marked := uint64(0)
	for _, f := range got {
		switch f.TrafficClass {
		case 3:
			marked++
		case 0:
		default:
			t.Errorf("traffic class %#x", f.TrafficClass)
		}
	}
	if !about(marked, frames, 0.5) || marked != c.ECNMarked || len(got) != frames {
		t.Errorf("%d of %d frames marked, counted %+v", marked, len(got), c)
	}
}

func TestFaultDelayKeepsOrder(t *testing.T) {
	cfg := fault.Config{Delay: time.Millisecond}
	if got, _ := faultRun(t, cfg, 100, 10, time.Millisecond-1); len(got) != 0 {
		t.Errorf("%d frames before the delay", len(got))
	}
	got, c := faultRun(t, cfg, 100, 10, time.Millisecond)
	if diff := cmp.Diff(allTexts(100), textsOf(got)); diff != "" {
		t.Error(diff)
	}
	if c.Delayed != 100 {
		t.Errorf("counted %+v", c)
	}
}

func TestFaultJitterReordersWithinItsBound(t *testing.T) {
	cfg := fault.Config{Seed: 1, Delay: time.Millisecond, Jitter: time.Millisecond}
	got, _ := faultRun(t, cfg, 100, 10, 2*time.Millisecond)
	texts := textsOf(got)
	if slices.IsSorted(texts) {
		t.Error("nothing was reordered")
	}
	slices.Sort(texts)
	if diff := cmp.Diff(allTexts(100), texts); diff != "" {
		t.Error(diff)
	}
}

func TestFaultIsDecidedBySeedAndNumberAlone(t *testing.T) {
	cfg := fault.Config{Seed: 42, Drop: 0.1, Duplicate: 0.1, Reorder: 0.1, Corrupt: 0.1, ECNMark: 0.1,
		Jitter: time.Millisecond}
	first, _ := faultRun(t, cfg, 500, 5, time.Second)
	second, _ := faultRun(t, cfg, 500, 5, time.Second)
	if diff := cmp.Diff(textsOf(first), textsOf(second)); diff != "" {
		t.Errorf("the same seed, another outcome:\n%s", diff)
	}
	cfg.Seed++
	if other, _ := faultRun(t, cfg, 500, 5, time.Second); slices.Equal(textsOf(first), textsOf(other)) {
		t.Error("another seed, the same outcome")
	}
	drops := func(c fault.Config) []string {
		got, _ := faultRun(t, c, 500, 5, time.Second)
		texts := textsOf(got)
		slices.Sort(texts)
		return slices.Compact(texts)
	}
	with := fault.Config{Seed: 42, Drop: 0.1, Duplicate: 0.3, Reorder: 0.3}
	if diff := cmp.Diff(drops(fault.Config{Seed: 42, Drop: 0.1}), drops(with)); diff != "" {
		t.Errorf("other faults changed which frames are dropped:\n%s", diff)
	}
}

func TestFaultOnReceive(t *testing.T) {
	n := pipe.NewNet()
	a := linktest.OpenPipe(t, n, "192.0.2.1")
	b := fault.NewBoth(linktest.OpenPipe(t, n, "192.0.2.2"), fault.Config{},
		fault.Config{Seed: 7, Drop: 0.2, Duplicate: 0.2, Reorder: 0.2, Corrupt: 0.2, ECNMark: 0.2,
			Delay: time.Hour, Jitter: time.Hour})
	const frames = 1000
	linktest.MustSend(t, a, b.Local(), allTexts(frames)...)
	rb := packet.NewRecvBatch(frames)
	if err := b.Recv(rb); err != nil {
		t.Fatal(err)
	}
	_, c := b.Counters()
	if c.Delayed != 0 {
		t.Errorf("%d incoming frames counted as delayed; none is", c.Delayed)
	}
	if c.Frames != frames || !about(c.Dropped, frames, 0.2) {
		t.Errorf("counted %+v", c)
	}
	if want := frames - c.Dropped + c.Duplicated; uint64(len(rb.Frames)) != want {
		t.Errorf("%d frames, want %d", len(rb.Frames), want)
	}
	for _, n := range []uint64{c.Duplicated, c.Reordered, c.Corrupted, c.ECNMarked} {
		if !about(n, frames, 0.2*0.8) {
			t.Errorf("counted %+v", c)
		}
	}
}

func TestFaultRecvWaitsForAFrameThatIsNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a := linktest.OpenPipe(t, n, "192.0.2.1")
		b := fault.NewBoth(linktest.OpenPipe(t, n, "192.0.2.2"), fault.Config{}, fault.Config{Drop: 1})
		done := make(chan error)
		go func() { done <- b.Recv(packet.NewRecvBatch(1)) }()
		linktest.MustSend(t, a, b.Local(), "x", "y")
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("Recv came back without a frame: %v", err)
		default:
		}
		b.Close()
		if err := <-done; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Recv: %v, want net.ErrClosed", err)
		}
	})
}

func TestFaultCountsHeldFramesTheLinkRefuses(t *testing.T) {
	n := pipe.NewNet()
	a := fault.New(linktest.OpenPipe(t, n, "192.0.2.1"), fault.Config{Delay: time.Hour})
	linktest.MustSend(t, a, netip.MustParseAddr("2001:db8::1"), "other family")
	if err := a.Flush(); !errors.Is(err, packet.ErrAddressFamily) {
		t.Errorf("Flush: %v, want ErrAddressFamily", err)
	}
	if c, _ := a.Counters(); c.Failed != 1 {
		t.Errorf("counted %+v, want 1 failed", c)
	}
}

func TestFaultAllocatesNothingInSteadyState(t *testing.T) {
	n := pipe.NewNet()
	a := fault.New(linktest.OpenPipe(t, n, "192.0.2.1"),
		fault.Config{Seed: 5, Drop: 0.1, Duplicate: 0.2, Reorder: 0.2, Corrupt: 0.2, ECNMark: 0.2,
			ReorderHold: time.Hour})
	b := linktest.OpenPipe(t, n, "192.0.2.2")
	batch, rb := packet.NewBatch(64), packet.NewRecvBatch(256)
	path, data := &packet.Path{Dst: b.Local()}, make([]byte, 1024)
	one := func() {
		for f := batch.AppendFrame(); f != nil; f = batch.AppendFrame() {
			f.Path = path
			f.Payload = append(f.Payload, data)
		}
		a.Prepare(batch)
		if err := a.Send(batch); err != nil {
			t.Fatal(err)
		}
		batch.Reset()
		if err := b.Recv(rb); err != nil {
			t.Fatal(err)
		}
	}
	for range 300 {
		one()
	}
	if n := testing.AllocsPerRun(500, one); n != 0 {
		t.Errorf("%v allocations a batch, want 0", n)
	}
	a.Close()
}
