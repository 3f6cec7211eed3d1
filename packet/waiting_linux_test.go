package packet

import (
	"errors"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// outstanding is how much of its send buffer the kernel counts as taken, in bytes.
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
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.45.1/24", "fd00:45::1/64"}, Right: []string{"198.18.45.2/24", "fd00:45::2/64"}})
	for _, addr := range []string{"198.18.45.1", "fd00:45::1"} {
		for _, link := range []string{"udp", "raw"} {
			t.Run(addr+" "+link, func(t *testing.T) {
				var l Link
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
				b := NewBatch(64)
				const frames, size = 2000, 280
				for range frames / 20 {
					for i := range 20 {
						f := b.Next()
						f.Path = &Path{Dst: absent[i%len(absent)]}
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
				taken, s := outstanding(t, socket), l.(Counted).Stats()
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

// One frame to each next hop that is missing goes out whatever waits for others.
func TestAHostThatIsThereIsAskedForBesideAFloodForAbsentOnes(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.45.1/24"}, Right: []string{"198.18.45.2/24"}})
	open := func(ns netns.NsHandle, addr string) (l Link) {
		testnet.In(t, ns, func() (err error) {
			l, err = ListenUDP(netip.MustParseAddr(addr), UDPOptions{SendBuffer: 104 << 10})
			return err
		})
		t.Cleanup(func() { l.Close() })
		return l
	}
	l, there := open(hosts.Left, "198.18.45.1"), open(hosts.Right, "198.18.45.2")
	b := NewBatch(64)
	send := func(n int, size int, to ...string) {
		t.Helper()
		for range n {
			for _, a := range to {
				f := b.Next()
				f.Path = &Path{Dst: netip.MustParseAddr(a)}
				f.Payload = append(f.Payload, make([]byte, size))
			}
			l.Prepare(b)
			if err := l.Send(b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	arrives := func(what string) {
		t.Helper()
		send(1, 280, "198.18.45.2")
		if err := there.Recv(NewRecvBatch(8)); err != nil {
			t.Fatal(err)
		}
		if s := l.(Counted).Stats(); s.TxQueueFull > 0 {
			t.Errorf("%s: %+v", what, s)
		}
	}
	l.(Holder).Hold(there.Local())
	arrives("at first")
	send(200, 280, "198.18.45.101", "198.18.45.102", "198.18.45.103", "198.18.45.104", "198.18.45.105", "198.18.45.106")
	if s := l.(Counted).Stats(); s.TxNoNeighbour == 0 {
		t.Fatalf("nothing waits: %+v", s)
	}
	testnet.In(t, hosts.Left, func() error {
		link, err := netlink.LinkByName(testnet.Interface)
		if err != nil {
			return err
		}
		return netlink.NeighDel(&netlink.Neigh{LinkIndex: link.Attrs().Index, IP: net.ParseIP("198.18.45.2")})
	})
	for {
		if missing, _ := l.(*udpQueues).hops.Missing(there.Local()); missing {
			break
		}
		runtime.Gosched()
	}
	arrives("after the host has forgotten it")
}

func TestNothingIsBroadcast(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.45.1/24"}, Right: []string{"198.18.45.2/24"}})
	for _, link := range []string{"udp", "raw"} {
		for _, dst := range []string{"198.18.45.255", "255.255.255.255"} {
			var l Link
			testnet.In(t, hosts.Left, func() (err error) {
				if link == "raw" {
					l, err = ListenRaw(netip.MustParseAddr("198.18.45.1"), RawOptions{})
				} else {
					l, err = ListenUDP(netip.MustParseAddr("198.18.45.1"), UDPOptions{})
				}
				return err
			})
			b := NewBatch(1)
			f := b.Next()
			f.Path, f.Payload = path4(dst), append(f.Payload, make([]byte, 100))
			l.Prepare(b)
			if err := l.Send(b); !errors.Is(err, unix.EACCES) || l.(Counted).Stats().TxFrames > 0 {
				t.Errorf("%s to %s: %v, %+v", link, dst, err, l.(Counted).Stats())
			}
			l.Close()
		}
	}
}

func TestABucketFillsWithTime(t *testing.T) {
	b := bucket{most: 10, left: 10, fills: time.Second}
	now := time.Unix(1, 0)
	took := func() (n int) {
		for b.take(now, 1) {
			n++
		}
		return n
	}
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 10}, {0, 0}, {time.Second / 10, 1}, {time.Second / 20, 0}, {time.Second / 20, 1}, {time.Second / 2, 5}, {time.Hour, 10}, {-time.Hour, 0}} {
		now = now.Add(c.after)
		if got := took(); got != c.want {
			t.Errorf("after %v: %d, want %d", c.after, got, c.want)
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
	b := NewBatch(8)
	for _, text := range []string{"a", "bb", "ccc", "dddd"} {
		f := b.Next()
		f.Path = path4("192.0.2.2")
		f.Payload = append(f.Payload, []byte(text))
	}
	b.Lone = true
	l.Prepare(b)
	if err := l.Send(b); err != nil {
		t.Fatal(err)
	}
	if s := l.Stats(); len(k.got) != 2 || s.TxFrames != 2 || s.TxQueueFull != 2 || b.Sent != 4 || k.due {
		t.Errorf("%d messages left, %+v, Sent %d, a deadline is set: %v", len(k.got), s, b.Sent, k.due)
	}
	k.stuck, k.verdict = false, func(sentMessage) unix.Errno { return 0 }
	b.Reset()
	f := b.Next()
	f.Path, f.Payload = path4("192.0.2.2"), append(f.Payload, []byte("c"))
	l.Prepare(b)
	if err := l.Send(b); err != nil || len(k.got) != 3 {
		t.Errorf("afterwards: %v, %d messages left", err, len(k.got))
	}
}
