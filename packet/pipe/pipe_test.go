package pipe_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/pipe"
)

func TestPipeOpenRefuses(t *testing.T) {
	n := pipe.NewNet()
	linktest.OpenPipe(t, n, "192.0.2.1")
	for _, test := range []struct {
		Rule string
		Addr netip.Addr
		Mtu  int
	}{
		{"no address", netip.Addr{}, 1500},
		{"an address twice", netip.MustParseAddr("192.0.2.1"), 1500},
		{"an address twice, written as IPv6", netip.MustParseAddr("::ffff:192.0.2.1"), 1500},
		{"an MTU too small", netip.MustParseAddr("192.0.2.2"), 500},
		{"an MTU too large", netip.MustParseAddr("192.0.2.2"), 65536},
	} {
		if _, err := n.Open(test.Addr, test.Mtu); err == nil {
			t.Errorf("%s: no error", test.Rule)
		}
	}
}

func TestPipeAddressIsFreeAfterClose(t *testing.T) {
	n := pipe.NewNet()
	linktest.OpenPipe(t, n, "192.0.2.1").Close()
	linktest.OpenPipe(t, n, "192.0.2.1")
}

func TestPipeLosesWhatNobodyTakes(t *testing.T) {
	n := pipe.NewNet()
	a, b := linktest.OpenPipe(t, n, "192.0.2.1"), linktest.OpenPipe(t, n, "192.0.2.2")
	linktest.MustSend(t, a, netip.MustParseAddr("192.0.2.3"), "to nobody")
	if n.Undelivered() != 1 {
		t.Errorf("%d frames lost, want 1", n.Undelivered())
	}
	b.Close()
	linktest.MustSend(t, a, b.Local(), "to a closed link")
	if n.Undelivered() != 2 {
		t.Errorf("%d frames lost, want 2", n.Undelivered())
	}
}

func TestPipeQueueIsBounded(t *testing.T) {
	n := pipe.NewNet()
	n.Queue = 20
	a, b := linktest.OpenPipe(t, n, "192.0.2.1"), linktest.OpenPipe(t, n, "192.0.2.2")
	var texts []string
	for i := range 30 {
		texts = append(texts, fmt.Sprint(i))
	}
	linktest.MustSend(t, a, b.Local(), texts...)
	if got := linktest.RecvTexts(t, b, 20); got[0] != "0" || got[19] != "19" {
		t.Errorf("received %q", got)
	}
	if got := b.(packet.StatsReporter).Stats().RxDropped; got != 10 {
		t.Errorf("%d frames dropped, want 10", got)
	}
}

func TestPipeRecvIsDurablyBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := pipe.NewNet()
		a, b := linktest.OpenPipe(t, n, "192.0.2.1"), linktest.OpenPipe(t, n, "192.0.2.2")
		state := "waits"
		go func() {
			rb := packet.NewRecvBatch(1)
			for b.Recv(rb) == nil {
				state = string(rb.Frames[0].Data)
			}
			state = "closed"
		}()
		for _, step := range []struct {
			Do   func()
			Want string
		}{
			{func() {}, "waits"},
			{func() { linktest.MustSend(t, a, b.Local(), "hello") }, "hello"},
			{func() { b.Close() }, "closed"},
		} {
			step.Do()
			synctest.Wait()
			if state != step.Want {
				t.Fatalf("receiver: %q, want %q", state, step.Want)
			}
		}
		a.Close()
	})
}

func TestPipeSendAfterCloseOfBoth(t *testing.T) {
	n := pipe.NewNet()
	a := linktest.OpenPipe(t, n, "192.0.2.1")
	a.Close()
	if err := linktest.SendTo(t, a, a.Local(), "x"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Send: %v, want net.ErrClosed", err)
	}
}
