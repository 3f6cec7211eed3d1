package daemon

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Limits of the clients of /metrics: a connection uses a descriptor and about 20 KB of memory.
const (
	maxScrapers       = 64 // connections at a time
	maxScrapersOfHost = 16 // of one host
	scrapeTimeout     = 10 * time.Second
)

// boundedListener closes connections beyond the limits as soon as they are accepted.
type boundedListener struct {
	net.Listener
	all, ofHost int // limits

	mu    sync.Mutex
	open  int                // guarded by mu
	hosts map[netip.Addr]int // open per host, without zero entries; guarded by mu
}

func newBoundedListener(l net.Listener, all, ofHost int) *boundedListener {
	return &boundedListener{Listener: l, all: all, ofHost: ofHost, hosts: map[netip.Addr]int{}}
}

// Accept waits for a connection within the limits.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host := hostOf(exchange.Address(c.RemoteAddr()))
		if l.enter(host) {
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(host) })}, nil
		}
		c.Close()
	}
}

// hostOf returns the address that stands for the host of addr: addr itself, or the first address of
// the IPv6 network that one host can own.
func hostOf(addr netip.Addr) netip.Addr {
	if n := quota.NetworkOf(addr); n.IsValid() {
		return n.Addr
	}
	return addr
}

func (l *boundedListener) enter(host netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.all || l.hosts[host] >= l.ofHost {
		return false
	}
	l.open++
	l.hosts[host]++
	return true
}

func (l *boundedListener) leave(host netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.hosts[host]--; l.hosts[host] == 0 {
		delete(l.hosts, host)
	}
}

type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
