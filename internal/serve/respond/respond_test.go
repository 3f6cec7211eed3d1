package respond

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// call is a connection in memory between two addresses.
type call struct {
	net.Conn
	local, remote net.Addr
}

func (c call) LocalAddr() net.Addr  { return c.local }
func (c call) RemoteAddr() net.Addr { return c.remote }

func at(addr string) net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 18515))
}

const deviceAddr = "192.0.2.1"

// rig is a responder on a device in memory.
type rig struct {
	*testing.T
	dev   *verbs.Device
	r     *Responder
	log   bytes.Buffer // to be read when all sessions have ended
	calls chan net.Conn
	pipes *pipe.Net

	mu   sync.Mutex
	sent map[netip.Addr]int // packets sent by the device, by destination; guarded by mu
}

// sentTo returns the number of packets that the device has sent to an address.
func (r *rig) sentTo(addr string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sent[netip.MustParseAddr(addr)]
}

func (r *rig) Accept() (net.Conn, error) {
	if c, ok := <-r.calls; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (r *rig) Close() error   { return nil }
func (r *rig) Addr() net.Addr { return at(deviceAddr) }

// responding runs f in a bubble with a responder. When f has returned and all timeouts have
// expired, nothing may remain.
func responding(t *testing.T, limits Limits, kinds []Kind, f func(r *rig)) (counted map[string]uint64, logged string) {
	t.Helper()
	counted = map[string]uint64{}
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, calls: make(chan net.Conn), pipes: pipe.NewNet(), sent: map[netip.Addr]int{}}
		l, err := r.pipes.Open(netip.MustParseAddr(deviceAddr), 9000)
		if err != nil {
			t.Fatal(err)
		}
		l = packet.Tap(l, func(dir packet.Direction, f packet.TapFrame) {
			if dir == packet.Outgoing {
				r.mu.Lock()
				r.sent[f.Dst]++
				r.mu.Unlock()
			}
		})
		if r.dev, err = verbs.Open(verbs.Config{Links: []packet.Link{l},
			Peers: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"),
				netip.MustParsePrefix("127.0.0.0/8")}}); err != nil {
			t.Fatal(err)
		}
		if limits.Memory == 0 {
			limits.Memory = 1 << 16
		}
		r.r = New(func() []*verbs.Device { return []*verbs.Device{r.dev} }, limits,
			slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		// The result must not depend on the addresses of the test's host.
		r.r.hostAddrs = func(...string) []exchange.HostAddr { return nil }
		over := make(chan error)
		go func() { over <- r.r.Serve(t.Context(), r, kinds...) }()
		synctest.Wait()
		before := bubbled()
		f(r)
		time.Sleep(time.Minute)
		synctest.Wait()
		r.leftNothing(before)
		close(r.calls)
		if err := <-over; err != nil {
			t.Error(err)
		}
		if err := r.r.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		if err := r.dev.Close(); err != nil {
			t.Error(err)
		}
		r.r.Counters(func(name string, value uint64) { counted[strings.TrimPrefix(name, "respond_ended_")] = value })
		logged = r.log.String()
	})
	return counted, logged
}

// bubbled returns the number of goroutines of tests in bubbles, of which one runs at a time.
func bubbled() int {
	all := make([]byte, 1<<20)
	return bytes.Count(all[:runtime.Stack(all, true)], []byte("synctest bubble"))
}

func (r *rig) leftNothing(goroutines int) {
	r.Helper()
	if n := r.r.Sessions(); n != 0 {
		r.Errorf("%d sessions are left", n)
	}
	if n := r.r.memory.inUse(); n != 0 {
		r.Errorf("%d bytes of memory are still taken", n)
	}
	for q := range r.dev.QPs() {
		r.Errorf("queue pair %#06x is left", uint32(q.QPN))
	}
	for m := range r.dev.MRs() {
		r.Errorf("region %d is left", m.Number)
	}
	for c := range r.dev.CQs() {
		r.Errorf("completion queue %d is left", c.Number)
	}
	if n := bubbled(); n != goroutines {
		r.Errorf("%d goroutines, there were %d before the first client", n, goroutines)
	}
}

// call connects from an address to one of the responder's host.
func (r *rig) call(from, to string) net.Conn {
	a, b := net.Pipe()
	r.calls <- call{b, at(to), at(from)}
	return a
}

// say is one item of a client: its bytes, and the length of the answer.
type say struct {
	item   []byte
	answer int
}

// converse performs the exchange of a client, and returns the last answer.
func converse(c net.Conn, items ...say) (last []byte, err error) {
	for _, s := range items {
		if _, err := c.Write(s.item); err != nil {
			return nil, err
		}
		last = make([]byte, s.answer)
		if _, err := io.ReadFull(c, last); err != nil {
			return nil, err
		}
	}
	return last, nil
}

func gid(addr string) [16]byte { return netip.MustParseAddr(addr).As16() }

func opening() []say {
	return []say{
		{perftest.AppendVersion(nil, "5.98"), perftest.VersionLen}, {perftest.AppendWord(nil, 4096), perftest.WordLen},
		{perftest.AppendWord(nil, 64), perftest.WordLen}, {perftest.AppendMTU(nil, 3), perftest.MTULen},
	}
}

func key(qpn uint32) say {
	k := perftest.Key{OutReads: 1, QPN: qpn, GID: gid("192.0.2.2")}
	return say{k.Append(nil), perftest.KeyLen}
}

func dest(qpn uint32) say {
	d := pingpong.Dest{QPN: qpn, GID: gid("192.0.2.2")}
	return say{d.Append(nil), pingpong.Len}
}

var both = []Kind{Perftest, Pingpong}

// Unknown TCP data closes the connection, within the timeouts, and is counted by reason.
func TestWhoeverIsNoClientIsHungUpOn(t *testing.T) {
	drip := func(c net.Conn, b []byte) {
		for i := range b {
			if _, err := c.Write(b[i : i+1]); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}
	all := func(c net.Conn, items ...say) {
		if _, err := converse(c, items...); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		name, counter string
		from, to      string
		foreign       string
		kinds         []Kind
		within        time.Duration
		do            func(c net.Conn)
	}{
		{name: "silence", counter: "slow", within: 5 * time.Second, do: func(net.Conn) {}},
		{name: "a look whether the port is open", counter: "hung_up", do: func(c net.Conn) { c.Close() }},
		{name: "HTTP", counter: "refused_unknown",
			do: func(c net.Conn) { c.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")) }},
		{name: "zeros", counter: "refused_unknown", do: func(c net.Conn) { c.Write(make([]byte, 100)) }},
		{name: "almost an address", counter: "refused_unknown",
			do: func(c net.Conn) { c.Write([]byte("0000:00zz12:89e82e:0000000000")) }},
		{name: "a version a byte a second", counter: "slow", within: 5 * time.Second,
			do: func(c net.Conn) { drip(c, opening()[0].item) }},
		{name: "a key a byte a second", counter: "slow", within: 6 * time.Second,
			do: func(c net.Conn) { all(c, opening()...); drip(c, key(1).item) }},
		{name: "nothing after the opening", counter: "silent", within: 31 * time.Second,
			do: func(c net.Conn) { all(c, opening()...) }},
		{name: "a key that is none", counter: "bad_item",
			do: func(c net.Conn) { all(c, opening()...); c.Write(bytes.Repeat([]byte("zzzz:"), 30)) }},
		{name: "garbage for a key", counter: "bad_item",
			do: func(c net.Conn) { all(c, opening()...); c.Write(bytes.Repeat([]byte("x"), 200)) }},
		{name: "an older version", counter: "bad_item",
			do: func(c net.Conn) { c.Write(perftest.AppendVersion(nil, "5.10")) }},
		{name: "a client that is killed", counter: "hung_up",
			do: func(c net.Conn) { all(c, append(opening(), key(1), key(2))...); c.Close() }},
		{name: "a client without packets", counter: "no_packet", within: 11 * time.Second,
			do: func(c net.Conn) { all(c, append(opening(), key(1), key(1))...) }},
		{name: "a pingpong without packets", counter: "no_packet", within: 11 * time.Second,
			do: func(c net.Conn) { all(c, dest(1)); c.Write([]byte(pingpong.Done)) }},
		{name: "a pingpong without done", counter: "no_packet", within: 11 * time.Second,
			do: func(c net.Conn) { all(c, dest(1)) }},
		{name: "the GID of a third host", counter: "refused_foreign_gid", do: func(c net.Conn) {
			d := pingpong.Dest{QPN: 1, GID: gid("192.0.2.3")}
			c.Write(d.Append(nil))
		}},
		{name: "a GID of another kind", counter: "refused_queue_pair", foreign: "2001:db8::/64", do: func(c net.Conn) {
			d := pingpong.Dest{QPN: 1, GID: gid("2001:db8::1")}
			c.Write(d.Append(nil))
		}},
		{name: "a GID that is not admitted", counter: "refused_queue_pair", foreign: "203.0.113.0/24",
			do: func(c net.Conn) {
				d := pingpong.Dest{QPN: 1, GID: gid("203.0.113.1")}
				c.Write(d.Append(nil))
			}},
		{name: "another address of the host", counter: "refused_not_here", to: "198.51.100.1", do: func(net.Conn) {}},
		{name: "a host that is no peer", counter: "refused_not_admitted", from: "203.0.113.1", do: func(net.Conn) {}},
		{name: "a tool that is switched off", counter: "refused_switched_off", kinds: []Kind{Perftest},
			do: func(c net.Conn) { c.Write(dest(1).item) }},
	} {
		if c.kinds == nil {
			c.kinds = both
		}
		if c.from == "" {
			c.from = "192.0.2.2"
		}
		if c.to == "" {
			c.to = deviceAddr
		}
		limits := Limits{}
		if c.foreign != "" {
			limits.ForeignGIDs = []netip.Prefix{netip.MustParsePrefix(c.foreign)}
		}
		counted, logged := responding(t, limits, c.kinds, func(r *rig) {
			conn := r.call(c.from, c.to)
			begun := time.Now()
			go c.do(conn)
			r.ended()
			if d := time.Since(begun); d > c.within+time.Second {
				r.Errorf("%s: it took %v", c.name, d)
			}
			conn.Close()
		})
		if counted[c.counter] != 1 {
			t.Errorf("%s: %s is %d, want 1: %v\n%s", c.name, c.counter, counted[c.counter], counted, logged)
		}
	}
}

// ended waits until all sessions have ended.
func (r *rig) ended() {
	for range 1000 {
		synctest.Wait()
		if r.r.Sessions() == 0 {
			return
		}
		time.Sleep(watchTick)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	limits := Limits{Sessions: 5, PerPeer: 3, Memory: 1 << 16}
	counted, _ := responding(t, limits, both, func(r *rig) {
		var open []net.Conn
		for i := range 4 {
			c := r.call("192.0.2.2", deviceAddr)
			open = append(open, c)
			if _, err := converse(c, opening()...); (err == nil) != (i < 3) {
				r.Errorf("client %d of one address: %v", i, err)
			}
		}
		for i := range 3 {
			c := r.call(fmt.Sprintf("192.0.2.%d", 10+i), deviceAddr)
			open = append(open, c)
			if _, err := converse(c, opening()...); (err == nil) != (i < 2) {
				r.Errorf("client %d of many: %v", i, err)
			}
		}
		for _, c := range open {
			c.Close()
		}
		r.ended()
		c := r.call("192.0.2.2", deviceAddr)
		if _, err := converse(c, opening()...); err != nil {
			r.Errorf("when all are gone: %v", err)
		}
		c.Close()
	})
	if counted["refused_too_many"] != 2 {
		t.Errorf("%v", counted)
	}
}

// A /64 and the loopback addresses are many addresses of one host or user.
func TestSessionsOfANetworkAreBounded(t *testing.T) {
	limits := Limits{Sessions: 8, PerPeer: 2, Memory: 1 << 16}
	counted, _ := responding(t, limits, both, func(r *rig) {
		for i := range 8 {
			c := r.call(fmt.Sprintf("127.0.0.%d", 5+i/2), deviceAddr)
			defer c.Close()
			if _, err := converse(c, opening()...); (err == nil) != (i < 6) {
				r.Errorf("client %d of the loopback addresses: %v", i, err)
			}
		}
		for i := range 2 {
			c := r.call(fmt.Sprintf("192.0.2.%d", 5+i), deviceAddr)
			defer c.Close()
			if _, err := converse(c, opening()...); err != nil {
				r.Errorf("another client: %v", err)
			}
		}
	})
	if counted["refused_too_many"] != 2 {
		t.Errorf("%v", counted)
	}
}

// A neighbour can have any number of addresses of a link, as of a /64.
func TestSessionsOfALinkAreBounded(t *testing.T) {
	r := alone(openAt(t, deviceAddr), Limits{Sessions: 8, PerPeer: 2})
	served := func(from string, want bool) {
		t.Helper()
		_, _, err := r.admit(t.Context(), call{local: at(deviceAddr), remote: at(from)})
		if (err == nil) != want {
			t.Errorf("%s: %v", from, err)
		}
	}
	for i := range 8 {
		served(fmt.Sprintf("fe80::%x%%eth0", i+2), i < 6)
	}
	served("fe80::2%eth1", true)
	served("192.0.2.7", true)
}

// Silent clients exclude others for at most half a second.
func TestClientsThatDoNotGoOnMakeRoomForOthers(t *testing.T) {
	limits := Limits{Sessions: 4, PerPeer: 2, Memory: 1 << 16}
	counted, _ := responding(t, limits, both, func(r *rig) {
		for i := range 4 {
			c := r.call(fmt.Sprintf("192.0.2.%d", 10+i/2), deviceAddr)
			defer c.Close()
		}
		synctest.Wait()
		c := r.call("192.0.2.2", deviceAddr)
		if _, err := converse(c, opening()...); err == nil {
			r.Error("a client is served before another had the time to say something")
		}
		c.Close()
		time.Sleep(minHandshakeStall + watchTick)
		for i := range 2 {
			c := r.call("192.0.2.2", deviceAddr)
			defer c.Close()
			if _, err := converse(c, opening()...); err != nil {
				r.Errorf("client %d: %v", i, err)
			}
		}
		// A client of an address at its limit displaces only sessions of that address.
		c = r.call("192.0.2.2", deviceAddr)
		if _, err := converse(c, opening()...); err == nil {
			r.Error("a third session of an address displaces another's")
		}
		c.Close()
	})
	if counted["refused_too_many"] != 2 {
		t.Errorf("%v", counted)
	}
}

// A pingpong does not announce its end: a silent one can be displaced.
func TestAKilledClientLeavesNothing(t *testing.T) {
	const deaths, atATime = 1000, 50
	counted, _ := responding(t, Limits{PerPeer: atATime, Memory: 1 << 16}, both, func(r *rig) {
		for range deaths / atATime {
			var open []net.Conn
			for i := range atATime {
				c := r.call("192.0.2.2", deviceAddr)
				open = append(open, c)
				items := append(opening(), key(1), key(2), key(1), key(2))
				if i%2 == 1 {
					items = []say{dest(1)}
				}
				if _, err := converse(c, items...); err != nil {
					r.Error(err)
				}
				if i%4 == 1 {
					c.Write([]byte(pingpong.Done))
				}
			}
			if n := r.r.Sessions(); n != atATime {
				r.Errorf("%d sessions of %d clients", n, atATime)
			}
			for _, c := range open {
				c.Close()
			}
			r.ended()
		}
	})
	if n := counted["hung_up"] + counted["no_packet"]; n != deaths {
		t.Errorf("%d deaths are counted, want %d: %v", n, deaths, counted)
	}
}

func TestDrainingEndsWhatDoesNotEnd(t *testing.T) {
	responding(t, Limits{}, both, func(r *rig) {
		c := r.call("192.0.2.2", deviceAddr)
		if _, err := converse(c, opening()...); err != nil {
			r.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if err := r.r.Drain(ctx); err == nil ||
			err.Error() != "1 sessions of perftest and pingpong clients were cut off" {
			r.Errorf("Drain = %v", err)
		}
		if n, err := c.Read(make([]byte, 1)); err == nil {
			r.Errorf("%d bytes came", n)
		}
		d := r.call("192.0.2.2", deviceAddr)
		if n, err := d.Read(make([]byte, 1)); err == nil {
			r.Errorf("%d bytes came of a responder that stops", n)
		}
		c.Close()
		d.Close()
	})
}
