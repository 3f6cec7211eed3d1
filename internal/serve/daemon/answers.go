package daemon

import (
	"bytes"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
)

// How often requests for the metrics are answered. To gather them takes the locks of the data path,
// so one answer is for all who ask within answerAge. A request costs some 50 µs besides. One that
// comes too fast waits, and with it what its connection sends behind it; so a host with all its
// connections waits for 1.6 s at most, and all hosts together for 0.32 s.
const answerAge = 100 * time.Millisecond

var (
	hostRequests = pace.Rate{Burst: 20, Interval: 100 * time.Millisecond}
	allRequests  = pace.Rate{Burst: 200, Interval: 5 * time.Millisecond}
)

// maxRequestPaces is more than the number of hosts that can have tokens missing: that is so for 3.6
// s at most after a request, and 920 are answered in that time, and 64 wait.
const maxRequestPaces = 1024

// requestPaces are those of all hosts together, and of the hosts that have tokens missing.
type requestPaces struct {
	mu  sync.Mutex
	all pace.Bucket                // guarded by mu
	of  map[netip.Addr]pace.Bucket // maxRequestPaces at most; guarded by mu
}

// take counts a request, and returns how long it has to wait.
func (p *requestPaces) take(host netip.Addr, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of) >= maxRequestPaces {
		maps.DeleteFunc(p.of, func(_ netip.Addr, b pace.Bucket) bool { return b.Refill(now) == 0 })
	}
	of := p.of[host]
	of.Take(hostRequests, now, 1)
	p.of[host] = of
	p.all.Take(allRequests, now, 1)
	return max(of.Wait(hostRequests, now, 0), p.all.Wait(allRequests, now, 0))
}

// paced lets h answer requests at their pace. A client that hangs up while it waits keeps its place,
// so to connect again is no way around the pace. What waits when over is closed is refused.
func paced(h http.Handler, over <-chan struct{}) http.Handler {
	p := &requestPaces{of: map[netip.Addr]pace.Bucket{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The error is of a connection without an address: all of those are one host.
		from, _ := netip.ParseAddrPort(r.RemoteAddr)
		if wait := p.take(hostOf(from.Addr().Unmap()), time.Now()); wait > 0 {
			select {
			case <-time.After(wait):
			case <-over:
				http.Error(w, "the daemon is stopping", http.StatusServiceUnavailable)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

// gathered answers each request with what h answers to a plain GET, which is made once in answerAge
// and kept whole: a client that reads slowly holds nobody up, and the header of a request is nothing
// that an answer depends on.
func gathered(h http.Handler) http.Handler {
	var mu sync.Mutex
	var kept *answer // guarded by mu; what it points to does not change any more
	var made time.Time
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if kept == nil || time.Since(made) >= answerAge {
			kept, made = &answer{header: http.Header{}, code: http.StatusOK}, time.Now()
			h.ServeHTTP(kept, &http.Request{Method: http.MethodGet, URL: r.URL, Header: http.Header{}})
		}
		a := kept
		mu.Unlock()
		maps.Copy(w.Header(), a.header)
		w.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
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
