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

// Rate limits of requests for the metrics. Gathering them acquires the locks of the data path, so
// one answer serves all requests within answerAge; each request costs about 50 µs in addition. A
// request over the rate waits, as do later requests on its connection. The number of connections is
// limited, so a request waits at most 1.6 s because of its host's rate, and at most 0.32 s because
// of that of all hosts.
const answerAge = 100 * time.Millisecond

var (
	hostRequests = pace.Rate{Burst: 20, Interval: 100 * time.Millisecond}
	allRequests  = pace.Rate{Burst: 200, Interval: 5 * time.Millisecond}
)

// maxRequestPaces exceeds the number of hosts whose buckets can be less than full: a bucket is full
// at most 3.6 s after a request; 920 requests are answered in that time, and 64 wait.
const maxRequestPaces = 1024

// requestPaces holds the bucket of all hosts together, and those of the hosts whose buckets are not
// full.
type requestPaces struct {
	mu  sync.Mutex
	all pace.Bucket                // guarded by mu
	of  map[netip.Addr]pace.Bucket // at most maxRequestPaces entries; guarded by mu
}

// take counts a request, and returns how long it must wait.
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

// paced limits the rate of requests to h. The token of a client that disconnects while it waits
// is not returned, so reconnecting does not circumvent the limit. Requests that wait when over is
// closed are rejected.
func paced(h http.Handler, over <-chan struct{}) http.Handler {
	p := &requestPaces{of: map[netip.Addr]pace.Bucket{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The error is ignored: all connections without an address count as one host.
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

// gathered answers each request with the answer of h to a plain GET, which it generates at most
// once per answerAge and buffers: a slow client delays no other, and the answer does not depend
// on the header of the request.
func gathered(h http.Handler) http.Handler {
	var mu sync.Mutex
	var kept *answer // guarded by mu; the answer itself is immutable once mu is unlocked
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
		// The error is ignored: it means that the client has gone.
		_, _ = w.Write(a.body.Bytes())
	})
}

// An answer is a buffered response.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
