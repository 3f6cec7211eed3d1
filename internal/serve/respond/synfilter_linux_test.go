package respond

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/verbs"
)

// dropped reports whether err is that of an unanswered connection request.
func dropped(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// reaches returns an error unless from connects to l's port at to before the first
// retransmission.
func reaches(l net.Listener, from, to netip.Addr) error {
	d := net.Dialer{Timeout: 300 * time.Millisecond, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	c, err := d.Dial("tcp", netip.AddrPortFrom(to, uint16(l.Addr().(*net.TCPAddr).Port)).String())
	if err != nil {
		return err
	}
	return c.Close()
}

// listenForBoth returns a listener for IPv4 and IPv6. Package net may have cached the support of
// another namespace.
func listenForBoth() (net.Listener, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0),
		unix.Bind(fd, &unix.SockaddrInet6{}), unix.Listen(fd, 1024))
	if err != nil {
		return nil, err
	}
	return net.FileListener(f)
}

func whole(addr string) source {
	a := netip.MustParseAddr(addr)
	return source{a, a.BitLen()}
}

// Sources in the filter do not reach the listener, and all others do.
func TestOnlySourcesInTheFilterAreDropped(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{
		MTU:  1500,
		Left: []string{"192.0.2.1/24", "2001:db8::1/32", "fe80::1/64"},
		Right: []string{"192.0.2.2/24", "192.0.2.3/24", "2001:db8::2/32", "2001:db8::3/32", "2001:db8:0:1::2/32",
			"fe80::2/64", "fe80::3/64"},
	})
	var l net.Listener
	testnet.In(t, hosts.Left, func() (err error) { l, err = listenForBoth(); return err })
	defer l.Close()
	socket, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	zone := "%" + testnet.Interface
	clients := []struct{ from, to string }{
		{"192.0.2.2", "192.0.2.1"}, {"192.0.2.3", "192.0.2.1"},
		{"2001:db8::2", "2001:db8::1"}, {"2001:db8::3", "2001:db8::1"}, {"2001:db8:0:1::2", "2001:db8::1"},
		{"fe80::2", "fe80::1"}, {"fe80::3", "fe80::1"},
	}
	network := source{netip.MustParseAddr("2001:db8::"), 64}
	link := func(zone string) source { return source{netip.MustParseAddr("fe80::" + zone), 64} }
	for _, c := range []struct {
		in  []source
		out map[string]bool // clients whose requests are dropped
	}{
		{[]source{whole("192.0.2.2")}, map[string]bool{"192.0.2.2": true}},
		{[]source{whole("2001:db8::2")}, map[string]bool{"2001:db8::2": true}},
		{[]source{network}, map[string]bool{"2001:db8::2": true, "2001:db8::3": true}},
		{[]source{whole("fe80::2" + zone)}, map[string]bool{"fe80::2": true}},
		{[]source{link(zone)}, map[string]bool{"fe80::2": true, "fe80::3": true}},
		{[]source{link("%lo")}, nil},
		{[]source{whole("fe80::2%lo"), whole("fe80::2%none")}, nil},
		{[]source{whole("192.0.2.9"), whole("192.0.2.3"), whole("2001:db8:0:1::2"), network, whole("fe80::3" + zone)},
			map[string]bool{"192.0.2.3": true, "2001:db8::2": true, "2001:db8::3": true, "2001:db8:0:1::2": true,
				"fe80::3": true}},
		{nil, nil},
		{nil, nil},
	} {
		testnet.In(t, hosts.Left, func() error {
			if err := dropSYNs(socket, c.in); err != nil && (len(c.in) > 0 || !errors.Is(err, syscall.ENOENT)) {
				t.Errorf("%v: %v", c.in, err)
			}
			return nil
		})
		testnet.In(t, hosts.Right, func() error {
			i, err := net.InterfaceByName(testnet.Interface)
			if err != nil {
				return err
			}
			scoped := func(addr string) netip.Addr {
				a := netip.MustParseAddr(addr)
				if a.IsLinkLocalUnicast() {
					// The names that package net caches may be of another namespace.
					a = a.WithZone(fmt.Sprint(i.Index))
				}
				return a
			}
			for _, client := range clients {
				err := reaches(l, scoped(client.from), scoped(client.to))
				if d := dropped(err); err != nil && !d || d != c.out[client.from] {
					t.Errorf("while %v are in the filter, %s: %v", c.in, client.from, err)
				}
			}
			return nil
		})
	}
}

// The maximum number of sources fits into the filter.
func TestTheMaximumOfSourcesFitsIntoTheFilter(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"192.0.2.0", "2001:db8::", "fe80::"} {
		var all []source
		for i := range maxDropped {
			s := whole(numbered(first, i).String())
			if s.addr.IsLinkLocalUnicast() {
				s.addr = s.addr.WithZone("lo")
			}
			all = append(all, s)
		}
		if err := dropSYNs(socket, all); errors.Is(err, unix.EPERM) {
			t.Skip("this kernel lets nobody without capabilities filter a TCP socket")
		} else if err != nil {
			t.Errorf("%s: %v", first, err)
		}
	}
}

// mayDrop skips a test if the kernel cannot filter SYNs.
func mayDrop(t *testing.T, l net.Listener) {
	t.Helper()
	f := newSYNFilter(l)
	if err := dropSYNs(f.socket, []source{whole("127.84.6.99")}); errors.Is(err, unix.EPERM) {
		t.Skip("this kernel lets nobody without capabilities filter a TCP socket")
	}
	f.update()
}

func TestDroppedSourcesAreReleased(t *testing.T) {
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from, to := netip.MustParseAddr("127.84.6.2"), netip.MustParseAddr("127.0.0.1")
	f := newSYNFilter(l)
	defer f.close()
	mayDrop(t, l)
	f.drop(whole("127.84.6.2"), time.Hour)
	f.drop(whole("127.84.6.3"), time.Hour)
	if err := reaches(l, from, to); !dropped(err) {
		t.Errorf("while it is in the filter: %v", err)
	}
	f.drop(whole("127.84.6.2"), time.Millisecond)
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		err := reaches(l, from, to)
		if err == nil {
			break
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatal(err)
		}
	}
	if err := reaches(l, netip.MustParseAddr("127.84.6.3"), to); !dropped(err) {
		t.Errorf("another one in the filter: %v", err)
	}
}

func TestAnAddressThatConnectsTooFastIsDroppedAndOthersAreServed(t *testing.T) {
	l, err := Listen("127.84.6.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mayDrop(t, l)
	r := New(func() []*verbs.Device { return nil }, Limits{}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- r.Serve(ctx, l, Perftest) }()
	to := netip.MustParseAddr("127.84.6.1")
	for begun := time.Now(); ; {
		err := reaches(l, netip.MustParseAddr("127.84.6.2"), to)
		if dropped(err) {
			break
		}
		// Before that it may be closed so soon that it sees a reset.
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("after %v it is not dropped: %v", time.Since(begun), err)
		}
	}
	if err := reaches(l, netip.MustParseAddr("127.84.6.3"), to); err != nil {
		t.Errorf("another address: %v", err)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// Clients of one address have filled the queue of the listener before another one connects.
func TestAFullQueueOfOneAddressDoesNotKeepAnotherClientWaiting(t *testing.T) {
	const flood = 3000
	l, err := Listen("127.84.6.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dial := func(from string) net.Conn {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	for range flood {
		dial("127.84.6.2")
	}
	client := dial("127.84.6.3")
	r := New(func() []*verbs.Device { return nil }, Limits{}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error)
	begun := time.Now()
	go func() { over <- r.Serve(ctx, l, Perftest) }()
	// Without devices the connection of a client is closed in its turn.
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the client reads %d bytes: %v", n, err)
	}
	if d := time.Since(begun); d > 1500*time.Millisecond {
		t.Errorf("its turn comes after %v", d)
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}
