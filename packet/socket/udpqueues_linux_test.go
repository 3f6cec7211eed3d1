package socket_test

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/packet/socket"
	"golang.org/x/sys/unix"
)

func split(t *testing.T, l packet.Link, n int) []packet.Queue {
	t.Helper()
	queues, err := packet.Split(l, n)
	if err != nil {
		t.Fatal(err)
	}
	if len(queues) != n {
		t.Fatalf("%d queues, want %d", len(queues), n)
	}
	return queues
}

// sendQPs sends consecutive packets of size bytes to each queue pair. The PSN field counts from
// 0.
func sendQPs(t *testing.T, l packet.Link, to netip.Addr, qpns []uint32, frames, size int) {
	t.Helper()
	b := packet.NewBatch(len(qpns) * frames)
	for _, n := range qpns {
		path := &packet.Path{Src: l.Local(), Dst: to}
		for i := range frames {
			f := b.AppendFrame()
			f.Path = path
			f.Header = make([]byte, size)
			if size >= 12 {
				binary.BigEndian.PutUint32(f.Header[4:], 0xc0<<24|n) // with flag bits beside the QPN
				binary.BigEndian.PutUint32(f.Header[8:], uint32(i))
			}
		}
	}
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
}

func TestUDPQueuesHaveThePacketsForTheirQueuePairs(t *testing.T) {
	qpns := []uint32{1, 16, 17, 18, 0x10000, 0x7fffff, 0xfffffe}
	for _, test := range []struct{ Family, From, To string }{{"IPv4", "127.44.0.9", "127.44.0.10"},
		{"IPv6", "::1", "::1"}} {
		t.Run(test.Family, func(t *testing.T) {
			to := listen(t, test.To, socket.UDPOptions{})
			defer to.Close()
			from := to
			if test.From != test.To {
				from = listen(t, test.From, socket.UDPOptions{})
				defer from.Close()
			}
			const n, frames = 3, 20
			queues := split(t, to, n)
			sendQPs(t, from, to.Local(), qpns, frames, 64)
			rb := packet.NewRecvBatch(64)
			next := map[uint32]uint32{}
			for i, left := 0, len(qpns)*frames; left > 0; i = (i + 1) % n {
				runtime.Gosched()
				if err := queues[i].TryRecv(rb); err != nil {
					t.Fatal(err)
				}
				for _, f := range rb.Frames {
					qpn, psn := binary.BigEndian.Uint32(f.Data[4:])&0xffffff, binary.BigEndian.Uint32(f.Data[8:])
					if int(qpn%n) != i || psn != next[qpn] || f.Src != from.Local() || f.Dst != to.Local() {
						t.Fatalf("packet %d for %#x, from %v to %v, in queue %d; want packet %d",
							psn, qpn, f.Src, f.Dst, i, next[qpn])
					}
					next[qpn]++
					left--
				}
			}
			if got := to.(packet.StatsReporter).Stats().RxFrames; got != uint64(len(qpns)*frames) {
				t.Errorf("the link counts %d packets received, want %d", got, len(qpns)*frames)
			}
		})
	}
}

func TestUDPQueuesTakeWhatIsNoPacket(t *testing.T) {
	a, b := listen(t, "127.44.0.11", socket.UDPOptions{}), listen(t, "127.44.0.12", socket.UDPOptions{})
	defer a.Close()
	defer b.Close()
	queues := split(t, b, 2)
	for _, size := range []int{0, 1, 7, 8, 11} {
		sendQPs(t, a, b.Local(), []uint32{0}, 1, size)
		for !queues[0].Pending() {
			runtime.Gosched()
		}
		rb := packet.NewRecvBatch(4)
		if err := queues[0].TryRecv(rb); err != nil || len(rb.Frames) != 1 || len(rb.Frames[0].Data) != size {
			t.Errorf("%d bytes: %v, %v", size, rb.Frames, err)
		}
	}
}

func TestUDPQueuesEndWithTheLink(t *testing.T) {
	l := listen(t, "127.44.0.13", socket.UDPOptions{})
	queues := split(t, l, 4)
	var waiting sync.WaitGroup
	errs := make([]error, len(queues))
	for i, q := range queues {
		waiting.Go(func() { errs[i] = q.RecvLocked(packet.NewRecvBatch(4), new(sync.Mutex)) })
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	waiting.Wait()
	for i, err := range errs {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("queue %d: %v, want net.ErrClosed", i, err)
		}
		if queues[i].Pending() {
			t.Errorf("queue %d is pending after Close", i)
		}
	}
	if err := l.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

// The sockets of the queues share their port with each other only.
func TestUDPPortWithQueuesIsInUse(t *testing.T) {
	l := listen(t, "127.44.0.14", socket.UDPOptions{})
	defer l.Close()
	split(t, l, 2)
	if _, err := socket.ListenUDP(l.Local(), socket.UDPOptions{}); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("ListenUDP beside a link with queues: %v, want EADDRINUSE", err)
	}
}

func TestATapSeesWhatComesByQueues(t *testing.T) {
	a, b := listen(t, "127.44.0.15", socket.UDPOptions{}), listen(t, "127.44.0.16", socket.UDPOptions{})
	defer a.Close()
	seen := 0
	tapped := packet.Tap(b, func(packet.Direction, packet.TapFrame) { seen++ })
	defer tapped.Close()
	queues := split(t, tapped, 2)
	sendQPs(t, a, b.Local(), []uint32{16, 17}, 1, 64)
	rb := packet.NewRecvBatch(4)
	for _, q := range queues {
		for !q.Pending() {
			runtime.Gosched()
		}
		if err := q.TryRecv(rb); err != nil || len(rb.Frames) != 1 {
			t.Fatalf("%d packets, %v", len(rb.Frames), err)
		}
	}
	if seen != 2 {
		t.Errorf("the tap saw %d packets, want 2", seen)
	}
}

func TestSplitSaysWhereThereIsOneQueue(t *testing.T) {
	l := listen(t, "127.44.0.17", socket.UDPOptions{})
	defer l.Close()
	pipe, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	for what, link := range map[string]packet.Link{"a pipe": pipe, "a link with faults": fault.New(l, fault.Config{})} {
		if queues, err := packet.Split(link, 2); !errors.Is(err, errors.ErrUnsupported) || queues != nil {
			t.Errorf("%s: %v, %v, want ErrUnsupported", what, queues, err)
		}
	}
}
