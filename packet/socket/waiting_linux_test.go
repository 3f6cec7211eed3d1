package socket

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// outstanding returns the bytes of the send buffer in use, as the kernel counts them.
func outstanding(t *testing.T, l *udp) (n int) {
	t.Helper()
	if err := withFD(l.raw, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestHostsThatAreNotThereLeaveRoomForOthers(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{
		MTU: 1500, Left: []string{"198.18.45.1/24", "fd00:45::1/64"},
		Right: []string{"198.18.45.2/24", "fd00:45::2/64"},
	})
	for _, addr := range []string{"198.18.45.1", "fd00:45::1"} {
		for _, link := range []string{"udp", "raw"} {
			t.Run(addr+" "+link, func(t *testing.T) {
				var l packet.Link
				testnet.In(t, hosts.Left, func() (err error) {
					if link == "raw" {
						l, err = ListenRaw(netip.MustParseAddr(addr), RawOptions{SendBuffer: 104 << 10})
					} else {
						l, err = ListenUDP(netip.MustParseAddr(addr), UDPOptions{SendBuffer: 104 << 10})
					}
					return err
				})
				defer l.Close()
				var socket *udp
				switch l := l.(type) {
				case *udpQueues:
					socket = l.udp
				case *raw:
					socket = l.udp
				}
				absent := make([]netip.Addr, 8)
				for i, a := 0, socket.addr.Next().Next(); i < len(absent); i, a = i+1, a.Next() {
					absent[i] = a
				}
				b := packet.NewBatch(64)
				const frames, size = 2000, 280
				for range frames / 20 {
					for i := range 20 {
						f := b.AppendFrame()
						f.Path = &packet.Path{Dst: absent[i%len(absent)]}
						f.Payload = append(f.Payload, make([]byte, size))
					}
					l.Prepare(b)
					if err := l.Send(b); err != nil {
						t.Fatal(err)
					}
					b.Reset()
				}
				buffer, err := socket.sendBuffer()
				if err != nil {
					t.Fatal(err)
				}
				taken, s := outstanding(t, socket), l.(packet.StatsReporter).Stats()
				t.Logf("%d of %d bytes are taken, %+v", taken, buffer, s)
				if taken == 0 || taken > buffer/4 {
					t.Errorf("%d of the %d bytes of the send buffer are taken", taken, buffer)
				}
				if s.TxNoNeighbour == 0 || s.TxQueueFull > 0 || s.TxFrames+s.TxNoNeighbour != frames {
					t.Errorf("of %d frames: %+v", frames, s)
				}
			})
		}
	}
}

// listenWithSmallBuffer opens a UDP link in ns with Linux's default send buffer size.
func listenWithSmallBuffer(t *testing.T, ns netns.NsHandle, addr string) (l packet.Link) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		l, err = ListenUDP(netip.MustParseAddr(addr), UDPOptions{SendBuffer: 104 << 10})
		return err
	})
	t.Cleanup(func() { l.Close() })
	return l
}

// forget removes addr, a neighbour that answers, from the neighbour table of ns, and waits until l
// knows. l learns later than the peer that the neighbour answers: until then, l would take the
// removal for the state that it knows, and send trains once it learns.
func forget(t *testing.T, ns netns.NsHandle, l packet.Link, addr string) {
	t.Helper()
	awaitMissing(l, addr, false)
	testnet.In(t, ns, func() error {
		link, err := netlink.LinkByName(testnet.Interface)
		if err != nil {
			return err
		}
		return netlink.NeighDel(&netlink.Neigh{LinkIndex: link.Attrs().Index, IP: net.ParseIP(addr)})
	})
	awaitMissing(l, addr, true)
}

// awaitMissing waits until l follows addr and knows that its neighbour is missing, or that it is
// not.
func awaitMissing(l packet.Link, addr string, want bool) {
	for missing, followed := !want, false; missing != want || !followed; runtime.Gosched() {
		missing, followed = l.(*udpQueues).hops.Missing(netip.MustParseAddr(addr))
	}
}

// One frame goes to each missing next hop whatever waits for others; of a train, its first frame.
func TestAHostThatIsThereIsAskedForBesideAFloodForAbsentOnes(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.45.1/24"},
		Right: []string{"198.18.45.2/24"}})
	for _, c := range []struct {
		what         string
		frames, size int
	}{{"a frame", 1, 280}, {"a train", 40, 1400}} {
		t.Run(c.what, func(t *testing.T) {
			l, there := listenWithSmallBuffer(t, hosts.Left, "198.18.45.1"),
				listenWithSmallBuffer(t, hosts.Right, "198.18.45.2")
			b := packet.NewBatch(64)
			send := func(to string, frames, size int, mark byte) {
				t.Helper()
				path := &packet.Path{Dst: netip.MustParseAddr(to)}
				for range frames {
					f := b.AppendFrame()
					f.Path, f.Payload = path, append(f.Payload, bytes.Repeat([]byte{mark}, size))
				}
				l.Prepare(b)
				if n := trainAt(b, 0); n != frames {
					t.Fatalf("the train has %d frames, want %d", n, frames)
				}
				if err := l.Send(b); err != nil {
					t.Fatal(err)
				}
				if b.Sent != frames {
					t.Fatalf("%d of %d frames are dealt with", b.Sent, frames)
				}
				b.Reset()
			}
			arrives := func(when string, mark byte) {
				t.Helper()
				before := l.(packet.StatsReporter).Stats()
				send("198.18.45.2", c.frames, c.size, mark)
				s := l.(packet.StatsReporter).Stats()
				sent, not := s.TxFrames-before.TxFrames, s.TxNoNeighbour-before.TxNoNeighbour
				if sent != 1 || not != uint64(c.frames-1) {
					t.Errorf("%s %d frames are sent and %d are not", when, sent, not)
				}
				for last := byte(0); last != mark; {
					got := packet.NewRecvBatch(8)
					if err := there.Recv(got); err != nil {
						t.Fatal(err)
					}
					last = got.Frames[len(got.Frames)-1].Data[0]
				}
				if s.TxQueueFull > 0 {
					t.Errorf("%s: %+v", when, s)
				}
			}
			l.(packet.Holder).Hold(there.Local())
			arrives("at first", 1)
			for range 200 {
				for i := range 6 {
					send(fmt.Sprint("198.18.45.", 101+i), 1, 280, 0)
				}
			}
			if s := l.(packet.StatsReporter).Stats(); s.TxNoNeighbour == 0 {
				t.Fatalf("nothing waits: %+v", s)
			}
			forget(t, hosts.Left, l, "198.18.45.2")
			arrives("after the host has forgotten it", 2)
			forget(t, hosts.Left, l, "198.18.45.2")
		})
	}
}

// Datagrams for known neighbours fill the send buffer if the link is slow.
func TestAPeerIsAskedForBesideAFullBuffer(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{
		MTU: 1500, Left: []string{"198.18.45.1/24"}, Right: []string{"198.18.45.2/24", "198.18.45.3/24"},
	})
	l := listenWithSmallBuffer(t, hosts.Left, "198.18.45.1")
	b := packet.NewBatch(64)
	b.NoTrains = true
	send := func(to string, frames int) {
		t.Helper()
		for range frames {
			f := b.AppendFrame()
			f.Path, f.Payload = path4(to), append(f.Payload, make([]byte, 1400))
		}
		l.Prepare(b)
		if err := l.Send(b); err != nil {
			t.Fatal(err)
		}
		b.Reset()
	}
	for _, to := range []string{"198.18.45.2", "198.18.45.3"} {
		l.(packet.Holder).Hold(netip.MustParseAddr(to))
		send(to, 1)
		for missing, followed := true, false; missing || !followed; runtime.Gosched() {
			missing, followed = l.(*udpQueues).hops.Missing(netip.MustParseAddr(to))
		}
	}
	testnet.In(t, hosts.Left, func() error {
		link, err := netlink.LinkByName(testnet.Interface)
		if err != nil {
			return err
		}
		return netlink.QdiscAdd(&netlink.Tbf{
			QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0),
				Parent: netlink.HANDLE_ROOT},
			Rate: 1 << 17, Limit: 1 << 20, Buffer: 200_000, // bytes per second, bytes that wait, ticks of 64 ns
		})
	})
	send("198.18.45.3", 56)
	forget(t, hosts.Left, l, "198.18.45.2")
	if n, size := l.(*udpQueues).taken(), l.(*udpQueues).tx.waiting.size; n < size/2 {
		t.Fatalf("%d of %d bytes are taken", n, size)
	}
	send("198.18.45.2", 1)
	if s := l.(packet.StatsReporter).Stats(); s.TxFrames != 59 || s.TxNoNeighbour != 0 {
		t.Errorf("the frame that asks for the peer is not sent: %+v", s)
	}
}

// Discovery of any number of absent hosts leaves buffer space, and that of held peers has its
// own.
func TestWhatAsksForNeighboursIsBounded(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.0.1/16"},
		Right: []string{"198.18.0.2/16"}})
	l := listenWithSmallBuffer(t, hosts.Left, "198.18.0.1")
	b := packet.NewBatch(1)
	send := func(i int) {
		t.Helper()
		f := b.AppendFrame()
		f.Path = &packet.Path{Dst: netip.AddrFrom4([4]byte{198, 18, 1 + byte(i/200), 1 + byte(i%200)})}
		f.Payload = append(f.Payload, make([]byte, 280))
		l.(*udpQueues).hops.Await(f.Path.Dst, time.Minute)
		l.Prepare(b)
		if err := l.Send(b); err != nil {
			t.Fatal(err)
		}
		b.Reset()
	}
	for i := range 400 {
		send(i)
	}
	u := l.(*udpQueues)
	if n := u.taken(); n > 2*u.tx.waiting.size/8+4096 {
		t.Errorf("%d of %d bytes are taken for hosts that are absent", n, u.tx.waiting.size)
	}
	before := l.(packet.StatsReporter).Stats().TxFrames
	for i := range 400 {
		l.(packet.Holder).Hold(netip.AddrFrom4([4]byte{198, 18, 3 + byte(i/200), 1 + byte(i%200)}))
		for !u.hops.Held(netip.AddrFrom4([4]byte{198, 18, 3 + byte(i/200), 1 + byte(i%200)})) {
			runtime.Gosched()
		}
		send(400 + i)
	}
	n, sent := u.taken(), l.(packet.StatsReporter).Stats().TxFrames-before
	if n > 4*u.tx.waiting.size/8+4096 || sent < 10 {
		t.Errorf("%d of %d bytes are taken, %d frames ask for peers", n, u.tx.waiting.size, sent)
	}
}

func TestNothingIsBroadcast(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.45.1/24"},
		Right: []string{"198.18.45.2/24"}})
	for _, link := range []string{"udp", "raw"} {
		for _, dst := range []string{"198.18.45.255", "255.255.255.255"} {
			var l packet.Link
			testnet.In(t, hosts.Left, func() (err error) {
				if link == "raw" {
					l, err = ListenRaw(netip.MustParseAddr("198.18.45.1"), RawOptions{})
				} else {
					l, err = ListenUDP(netip.MustParseAddr("198.18.45.1"), UDPOptions{})
				}
				return err
			})
			b := packet.NewBatch(1)
			f := b.AppendFrame()
			f.Path, f.Payload = path4(dst), append(f.Payload, make([]byte, 100))
			l.Prepare(b)
			if err := l.Send(b); !errors.Is(err, unix.EACCES) || l.(packet.StatsReporter).Stats().TxFrames > 0 {
				t.Errorf("%s to %s: %v, %+v", link, dst, err, l.(packet.StatsReporter).Stats())
			}
			l.Close()
		}
	}
}

func TestSendGivesUpWhenThereIsNoRoomForLong(t *testing.T) {
	k := &kernel{stuck: true}
	k.verdict = func(m sentMessage) unix.Errno {
		if m.data[0] == 'c' {
			return unix.EAGAIN
		}
		return 0
	}
	l := k.link("192.0.2.1")
	b := packet.NewBatch(8)
	for _, text := range []string{"a", "bb", "ccc", "dddd"} {
		f := b.AppendFrame()
		f.Path = path4("192.0.2.2")
		f.Payload = append(f.Payload, []byte(text))
	}
	b.NoTrains = true
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); len(k.got) != 2 || s.TxFrames != 2 || s.TxQueueFull != 2 || b.Sent != 4 || k.due {
		t.Errorf("%d messages left, %+v, Sent %d, a deadline is set: %v", len(k.got), s, b.Sent, k.due)
	}
	k.stuck, k.verdict = false, func(sentMessage) unix.Errno { return 0 }
	b.Reset()
	f := b.AppendFrame()
	f.Path, f.Payload = path4("192.0.2.2"), append(f.Payload, []byte("c"))
	l.Prepare(b)
	if err := l.Send(b); err != nil || len(k.got) != 3 {
		t.Errorf("afterwards: %v, %d messages left", err, len(k.got))
	}
}
