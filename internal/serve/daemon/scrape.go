package daemon

import (
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Bounds on the clients of /metrics: each connection costs a descriptor and some 20 KB of memory.
const (
	maxScrapers       = 64 // connections at a time
	maxScrapersOfHost = 16 // of one host
	scrapeTimeout     = 10 * time.Second
)

// boundedListener closes connections beyond those bounds as soon as they are accepted.
type boundedListener struct {
	net.Listener
	all, ofHost int

	mu    sync.Mutex
	open  int                // guarded by mu
	hosts map[netip.Addr]int // of open, none of 0; guarded by mu
}

func newBoundedListener(l net.Listener, all, ofHost int) *boundedListener {
	return &boundedListener{Listener: l, all: all, ofHost: ofHost, hosts: map[netip.Addr]int{}}
}

// Accept waits for a connection within the bounds.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host := hostOf(c.RemoteAddr())
		if l.enter(host) {
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { l.leave(host) })}, nil
		}
		c.Close()
	}
}

// hostOf is where a connection comes from: an address, or the first of the IPv6 network that one
// host can have for itself.
func hostOf(a net.Addr) netip.Addr {
	addr := exchange.Address(a)
	if n := exchange.NetworkOf(addr); n.IsValid() {
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

// gathered answers each request at once: what h writes is kept until it is whole, so that a client
// that reads slowly holds nobody up. One answer is made at a time.
func gathered(h http.Handler) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &answer{header: w.Header(), code: http.StatusOK}
		mu.Lock()
		h.ServeHTTP(a, r)
		mu.Unlock()
		w.WriteHeader(a.code)
		// The error is of a client that has gone.
		_, _ = w.Write(a.body.Bytes())
	})
}

// An answer is a response that is kept.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
