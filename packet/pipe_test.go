package packet_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/packet"
)

// sendTo sends one frame for each text, Prepare included.
func sendTo(t testing.TB, from packet.Link, to netip.Addr, texts ...string) error {
	t.Helper()
	b := packet.NewBatch(len(texts))
	path := &packet.Path{Src: from.Local(), Dst: to}
	for _, s := range texts {
		f := b.Next()
		f.Path = path
		f.Payload = append(f.Payload, []byte(s))
	}
	from.Prepare(b)
	return from.Send(b)
}

func mustSend(t testing.TB, from packet.Link, to netip.Addr, texts ...string) {
	t.Helper()
	if err := sendTo(t, from, to, texts...); err != nil {
		t.Fatal(err)
	}
}

// recvTexts receives until it has n frames.
func recvTexts(t testing.TB, l packet.Link, n int) (texts []string) {
	t.Helper()
	rb := packet.NewRecvBatch(64)
	for len(texts) < n {
		if err := l.Recv(rb); err != nil {
			t.Fatalf("after %q: %v", texts, err)
		}
		for _, f := range rb.Frames {
			texts = append(texts, string(f.Data))
		}
	}
	return texts
}

func TestPipeOpenRefuses(t *testing.T) {
	n := packet.NewPipeNet()
	openPipe(t, n, "192.0.2.1")
	for _, test := range []struct {
		rule string
		addr netip.Addr
		mtu  int
	}{
		{"no address", netip.Addr{}, 1500},
		{"an address twice", netip.MustParseAddr("192.0.2.1"), 1500},
		{"an address twice, written as IPv6", netip.MustParseAddr("::ffff:192.0.2.1"), 1500},
		{"an MTU too small", netip.MustParseAddr("192.0.2.2"), 500},
		{"an MTU too large", netip.MustParseAddr("192.0.2.2"), 65536},
	} {
		if _, err := n.Open(test.addr, test.mtu); err == nil {
			t.Errorf("%s: no error", test.rule)
		}
	}
}

func TestPipeAddressIsFreeAfterClose(t *testing.T) {
	n := packet.NewPipeNet()
	openPipe(t, n, "192.0.2.1").Close()
	openPipe(t, n, "192.0.2.1")
}

func TestPipeLosesWhatNobodyTakes(t *testing.T) {
	n := packet.NewPipeNet()
	a, b := openPipe(t, n, "192.0.2.1"), openPipe(t, n, "192.0.2.2")
	mustSend(t, a, netip.MustParseAddr("192.0.2.3"), "to nobody")
	if n.Lost() != 1 {
		t.Errorf("%d frames lost, want 1", n.Lost())
	}
	b.Close()
	mustSend(t, a, b.Local(), "to a closed link")
	if n.Lost() != 2 {
		t.Errorf("%d frames lost, want 2", n.Lost())
	}
}

func TestPipeQueueIsBounded(t *testing.T) {
	n := packet.NewPipeNet()
	n.Queue = 20
	a, b := openPipe(t, n, "192.0.2.1"), openPipe(t, n, "192.0.2.2")
	var texts []string
	for i := range 30 {
		texts = append(texts, fmt.Sprint(i))
	}
	mustSend(t, a, b.Local(), texts...)
	if got := recvTexts(t, b, 20); got[0] != "0" || got[19] != "19" {
		t.Errorf("received %q", got)
	}
	if got := b.(packet.Counted).Stats().RxDropped; got != 10 {
		t.Errorf("%d frames dropped, want 10", got)
	}
}

func TestPipeRecvIsDurablyBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := packet.NewPipeNet()
		a, b := openPipe(t, n, "192.0.2.1"), openPipe(t, n, "192.0.2.2")
		state := "waits"
		go func() {
			rb := packet.NewRecvBatch(1)
			for b.Recv(rb) == nil {
				state = string(rb.Frames[0].Data)
			}
			state = "closed"
		}()
		for _, step := range []struct {
			do   func()
			want string
		}{
			{func() {}, "waits"},
			{func() { mustSend(t, a, b.Local(), "hello") }, "hello"},
			{func() { b.Close() }, "closed"},
		} {
			step.do()
			synctest.Wait()
			if state != step.want {
				t.Fatalf("receiver: %q, want %q", state, step.want)
			}
		}
		a.Close()
	})
}

func TestPipeSendAfterCloseOfBoth(t *testing.T) {
	n := packet.NewPipeNet()
	a := openPipe(t, n, "192.0.2.1")
	a.Close()
	if err := sendTo(t, a, a.Local(), "x"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Send: %v, want net.ErrClosed", err)
	}
}
