package tracecmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace/capture"
)

// fakeLive is a live capture whose frames the test provides.
type fakeLive struct {
	frames  chan capture.Frame
	closing sync.Once
	idle    func()
}

func (f *fakeLive) Next(to *capture.Frame) error {
	select {
	case next, ok := <-f.frames:
		return f.got(to, next, ok)
	default:
	}
	f.idle()
	next, ok := <-f.frames
	return f.got(to, next, ok)
}

func (f *fakeLive) got(to *capture.Frame, next capture.Frame, ok bool) error {
	if !ok {
		return io.EOF
	}
	*to = next
	return nil
}

func (f *fakeLive) Dropped() uint64 { return 3 }

func (f *fakeLive) Close() error {
	f.closing.Do(func() { close(f.frames) })
	return nil
}

// Packets are shown as they pass, messages and connections at the end, that is, after an
// interrupt.
func TestTraceCapturesUntilItIsInterrupted(t *testing.T) {
	in, err := capture.Open(bytes.NewReader(aConversation(t)))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		var c *fakeLive
		w := newWorld()
		w.Live = func(iface string, idle func()) (app.LiveCapture, error) {
			if iface != "eth7" {
				t.Errorf("captures on %q", iface)
			}
			c = &fakeLive{frames: make(chan capture.Frame, 10), idle: idle}
			return c, nil
		}
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		packets := w.Start(ctx, "trace -i eth7")
		synctest.Wait()
		var f capture.Frame
		if err := in.Next(&f); err != nil {
			t.Fatal(err)
		}
		f.Data = bytes.Clone(f.Data)
		c.frames <- f
		synctest.Wait()
		if n := strings.Count(packets.Stdout.String(), "\n"); n != 1 {
			t.Errorf("%d lines so far: %v", n, packets)
		}
		interrupt()
		<-packets.Done
		want := "capturing on eth7, until Ctrl-C\neth7: 3 frames missed: they came faster than they could be read\n"
		if packets.Code != 0 || packets.Stderr.String() != want {
			t.Error(packets)
		}
		ctx, interrupt = context.WithCancel(t.Context())
		flows := w.Start(ctx, "trace -i eth7 --flows --messages")
		synctest.Wait()
		c.frames <- f
		interrupt()
		<-flows.Done
		if flows.Code != 0 || !strings.Contains(flows.Stdout.String(), "flow 1  RC") ||
			!strings.Contains(flows.Stdout.String(), "SEND") {
			t.Error(flows)
		}
	})
}

func TestTraceSaysWhyItCannotCapture(t *testing.T) {
	w := newWorld()
	w.Live = func(string, func()) (app.LiveCapture, error) { return nil, errors.New("takes CAP_NET_RAW") }
	for line, want := range map[string]string{
		"trace -i eth7":        "gorxe: takes CAP_NET_RAW\n",
		"trace -i eth7 a.pcap": `gorxe: -i eth7 captures: leave the file "a.pcap" out` + "\n",
	} {
		if r := w.Run(t.Context(), line); r.Code == 0 || r.Stdout.Len() > 0 || r.Stderr.String() != want {
			t.Errorf("%s: %v", line, r)
		}
	}
}

// It ends without an interrupt, and without another frame.
func TestALiveCaptureEndsAfterTheNumberOfPackets(t *testing.T) {
	in, err := capture.Open(bytes.NewReader(aConversation(t)))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		c := &fakeLive{frames: make(chan capture.Frame, 10), idle: func() {}}
		w := newWorld()
		w.Live = func(string, func()) (app.LiveCapture, error) { return c, nil }
		for range 2 {
			var f capture.Frame
			if err := in.Next(&f); err != nil {
				t.Fatal(err)
			}
			f.Data = bytes.Clone(f.Data)
			c.frames <- f
		}
		r := w.Start(t.Context(), "trace -i eth7 -c 2")
		<-r.Done
		if r.Code != 0 || strings.Count(r.Stdout.String(), "\n") != 2 {
			t.Error(r)
		}
	})
}
