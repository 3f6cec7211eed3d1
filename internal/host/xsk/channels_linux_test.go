package xsk

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// setQueues gives a host's interface n send and receive queues.
func setQueues(t *testing.T, ns netns.NsHandle, n uint32) {
	t.Helper()
	testnet.OnInterface(t, ns, func(l netlink.Link) error {
		c := channels{cmd: unix.ETHTOOL_SCHANNELS, rxCount: n, txCount: n}
		err := ethtool(l.Attrs().Name, &c)
		if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
			t.Skipf("this kernel gives a veth pair no %d queues: %v", n, err)
		}
		return err
	})
}

func TestEveryQueueHasASocket(t *testing.T) {
	hosts := connect(t, 9000)
	for _, ns := range []netns.NsHandle{hosts.Left, hosts.Right} {
		setQueues(t, ns, 2)
	}
	a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Right, right, Options{})
	if a.Mode().Queues != 2 || b.Mode().Queues != 2 || len(b.FDs()) != 2 {
		t.Fatalf("%v and %v, want 2 queues", a.Mode(), b.Mode())
	}
	if b6 := openIn(t, hosts.Right, right6, Options{}); len(b6.FDs()) != 2 {
		t.Errorf("another address has %d sockets", len(b6.FDs()))
	}
	// A veth pair maps a send queue to the receive queue of the same number.
	h := NewHeld()
	for lane := range uint32(4) {
		l := a.Lane(lane)
		if err := l.Lock(); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			frameTo(l.Put(4180), right, i)
		}
		_, err := l.Flush()
		l.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		before := b.sockets[lane%2].rx.next
		expect(t, b, h, right, 0, 10, 4180)
		if got := b.sockets[lane%2].rx.next - before; got < 10 {
			t.Errorf("lane %d: %d entries came by queue %d", lane, got, lane%2)
		}
	}
	if b.Recv(h, 64); len(h.Frames) != 0 || b.Pending() {
		t.Errorf("%d frames too many", len(h.Frames))
	}
}
