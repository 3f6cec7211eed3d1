package respond

import (
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/verbs"
)

// crowd is a listener with a client for each accept, from the addresses that from returns in
// turn.
type crowd struct {
	from   func(i int) netip.Addr
	closed chan struct{}
	close  sync.Once

	mu    sync.Mutex
	began time.Time
	came  int // guarded by mu
	// after holds the times since began at which clients of an address were served. mu guards it.
	after map[netip.Addr][]time.Duration
}

func (l *crowd) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	near, far := net.Pipe()
	far.Close()
	a := l.from(l.came)
	l.came++
	return &caller{call{near, at("192.0.2.1"), net.TCPAddrFromAddrPort(netip.AddrPortFrom(a, 1024))}, l, a}, nil
}

func (l *crowd) Close() error   { l.close.Do(func() { close(l.closed) }); return nil }
func (l *crowd) Addr() net.Addr { return &net.TCPAddr{} }

// caller is a client of a crowd. A call of LocalAddr means that it is about to be served.
type caller struct {
	call
	crowd *crowd
	from  netip.Addr
}

func (c *caller) LocalAddr() net.Addr {
	c.crowd.mu.Lock()
	defer c.crowd.mu.Unlock()
	c.crowd.after[c.from] = append(c.crowd.after[c.from], time.Since(c.crowd.began))
	return c.call.LocalAddr()
}

// crowded serves a crowd for a second and returns when clients of each address were served.
func crowded(t *testing.T, from func(i int) netip.Addr) (after map[netip.Addr][]time.Duration,
	counted map[string]uint64) {
	t.Helper()
	counted = map[string]uint64{}
	synctest.Test(t, func(t *testing.T) {
		r := New(func() []*verbs.Device { return nil }, Limits{}, slog.New(slog.DiscardHandler))
		l := &crowd{from: from, closed: make(chan struct{}), began: time.Now(), after: map[netip.Addr][]time.Duration{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Serve(ctx, l, Perftest); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.Counters(func(name string, value uint64) { counted[name] = value })
		after = l.after
	})
	return after, counted
}

// total returns the number of clients of all addresses that were served.
func total(after map[netip.Addr][]time.Duration) (n int) {
	for _, s := range after {
		n += len(s)
	}
	return n
}

// numbered returns the i-th address after a first one.
func numbered(first string, i int) netip.Addr {
	a := netip.MustParseAddr(first)
	b := a.AsSlice()
	low := b[len(b)-4:]
	binary.BigEndian.PutUint32(low, binary.BigEndian.Uint32(low)+uint32(i))
	a, _ = netip.AddrFromSlice(b)
	return a
}

func within(t *testing.T, what string, n, want int) {
	t.Helper()
	if n < want-2 || n > want+2 {
		t.Errorf("%d clients of %s are served in a second, want %d", n, what, want)
	}
}

func TestAFloodOfClientsIsAcceptedAtAPace(t *testing.T) {
	after, _ := crowded(t, func(i int) netip.Addr { return numbered("198.51.0.0", i) })
	within(t, "all addresses", total(after), 100+1000)
}

func TestAnAddressHasAPaceOfItsOwn(t *testing.T) {
	for _, addr := range []string{"192.0.2.7", "2001:db8::7", "fe80::7%eth0"} {
		after, counted := crowded(t, func(int) netip.Addr { return netip.MustParseAddr(addr) })
		within(t, addr, total(after), 50+100)
		if n := counted["respond_ended_refused_too_fast"]; n < 10_000 || n > 11_002 {
			t.Errorf("%d connections of %s were closed in a second, want 1000 and 10,000 more", n, addr)
		}
	}
}

func TestANetworkHasAPaceOfItsOwn(t *testing.T) {
	after, _ := crowded(t, func(i int) netip.Addr { return numbered("2001:db8::", i) })
	within(t, "a /64", total(after), 75+500)
	// A neighbour can have every link-local address.
	after, _ = crowded(t, func(i int) netip.Addr { return numbered("fe80::", i).WithZone("eth0") })
	within(t, "a link", total(after), 75+500)
	after, _ = crowded(t, func(i int) netip.Addr { return numbered("fe80::", i).WithZone("eth" + strconv.Itoa(i%2)) })
	within(t, "two links", total(after), 100+1000)
}

// A client is served in time even if it comes after many others.
func TestOneSourceDoesNotKeepOthersWaiting(t *testing.T) {
	const behind = 3000
	one := func(addr string) func(int) netip.Addr {
		return func(int) netip.Addr { return netip.MustParseAddr(addr) }
	}
	all := func(first string) func(int) netip.Addr {
		return func(i int) netip.Addr { return numbered(first, i) }
	}
	for _, c := range []struct {
		name  string
		flood func(i int) netip.Addr
		other string
	}{
		{"an IPv4 address", one("192.0.2.7"), "192.0.2.8"},
		{"an IPv6 address, and one of the same network", one("2001:db8::7"), "2001:db8::8"},
		{"an IPv6 address, and one of another network", one("2001:db8::7"), "2001:db8:0:1::7"},
		{"an IPv6 network", all("2001:db8::"), "2001:db8:0:1::7"},
		{"a neighbour", one("fe80::7%eth0"), "fe80::8%eth0"},
		{"the same link-local address at another link", one("fe80::7%eth0"), "fe80::7%eth1"},
		{"an IPv4 address, and IPv6", one("192.0.2.7"), "::1"},
	} {
		other := netip.MustParseAddr(c.other)
		after, _ := crowded(t, func(i int) netip.Addr {
			if i%behind == behind-1 {
				return other
			}
			return c.flood(i)
		})
		switch served := after[other]; {
		case len(served) == 0:
			t.Errorf("%s: %v is not served in a second", c.name, other)
		case served[0] > 300*time.Millisecond:
			t.Errorf("%s: %v is served after %v", c.name, other, served[0])
		}
	}
}

func TestClientsThatComeNowAndThenDoNotWait(t *testing.T) {
	p := paces{bySource: map[source]pace.Bucket{}, spent: func(s source, _ time.Duration) {
		t.Fatalf("%v is dropped", s)
	}}
	now := time.Unix(1, 0)
	for i := range 1000 {
		served, wait := p.admit(netip.MustParseAddr("2001:db8::7"), now)
		if !served || wait > 0 {
			t.Fatalf("client %d is served: %v; the next one waits for %v", i, served, wait)
		}
		now = now.Add(addressClients.Interval)
	}
}

func TestASourceThatHasSpentItsPaceIsDroppedUntilNothingIsMissing(t *testing.T) {
	dropped := map[source]time.Duration{}
	p := paces{bySource: map[source]pace.Bucket{}, spent: func(s source, d time.Duration) { dropped[s] = d }}
	now, addr := time.Unix(1, 0), netip.MustParseAddr("2001:db8::7")
	for i := range addressClients.Burst {
		if len(dropped) > 0 {
			t.Fatalf("after %d clients %v is dropped", i, dropped)
		}
		p.admit(addr, now)
	}
	want := 500 * time.Millisecond
	if d := dropped[source{addr, 128}]; len(dropped) != 1 || d != want {
		t.Errorf("after %d clients %v is dropped, want the address for %v", addressClients.Burst, dropped, want)
	}
	for i := range networkClients.Burst - addressClients.Burst {
		p.admit(numbered("2001:db8::8", i), now)
	}
	want = 150 * time.Millisecond
	if d := dropped[source{netip.MustParseAddr("2001:db8::"), 64}]; len(dropped) != 2 || d != want {
		t.Errorf("after %d clients of a network %v is dropped, want the network for %v", networkClients.Burst,
			dropped, want)
	}
}

// The number of remembered sources is limited.
func TestTheMemoryOfSourcesIsBounded(t *testing.T) {
	p := paces{bySource: map[source]pace.Bucket{}, spent: func(source, time.Duration) {}}
	now, most := time.Unix(1, 0), 0
	for i := range 100_000 {
		var addr [16]byte
		binary.BigEndian.PutUint32(addr[:], 0x20010db8)
		binary.BigEndian.PutUint32(addr[4:], uint32(i/2))
		binary.BigEndian.PutUint32(addr[12:], uint32(i))
		served, wait := p.admit(netip.AddrFrom16(addr), now)
		if !served {
			t.Fatalf("client %d is refused", i)
		}
		now = now.Add(max(wait, 0))
		most = max(most, len(p.bySource))
	}
	if most > maxPaces {
		t.Errorf("%d sources are remembered, want %d at most", most, maxPaces)
	}
}
