package daemon

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
)

// from is a connection from an address.
type from struct {
	net.Conn
	addr string
}

func (c from) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.addr), 1))
}

func TestConnectionsToMetricsAreBoundedInAllAndOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := testnet.Listen()
		l := newBoundedListener(calls, 7, 2)
		defer l.Close()
		accepted := make(chan net.Conn, 100)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c
			}
		}()
		call := func(addr string, served bool) (far net.Conn) {
			t.Helper()
			near, far := net.Pipe()
			calls.Give(from{near, addr})
			synctest.Wait()
			if (len(accepted) == 1) != served {
				t.Fatalf("%d connections from %s are accepted", len(accepted), addr)
			}
			if served {
				return <-accepted
			}
			if _, err := far.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("a connection that is not accepted ends with %v", err)
			}
			return nil
		}
		first := call("192.0.2.1", true)
		call("192.0.2.1", true)
		call("192.0.2.1", false)
		call("2001:db8::1", true)
		call("2001:db8::2", true)
		call("2001:db8::3", false) // of the same network
		call("fe80::1%eth0", true)
		call("fe80::2%eth0", true)
		call("fe80::3%eth0", false) // of the same link
		call("fe80::3%eth1", true)
		call("192.0.2.3", false) // there are seven
		first.Close()
		first.Close() // counted once
		call("192.0.2.3", true)
		call("192.0.2.1", false)
	})
}

// The answer for a client that does not read is generated, and no other client is delayed.
func TestAClientOfMetricsThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := gathered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Test", "1")
			w.WriteHeader(http.StatusTeapot)
			io.WriteString(w, "some ")
			io.WriteString(w, "text")
		}))
		block := make(chan struct{})
		for range 10 {
			go h.ServeHTTP(&stuck{httptest.NewRecorder(), block},
				httptest.NewRequest("GET", "/metrics", strings.NewReader("")))
		}
		synctest.Wait()
		r := httptest.NewRecorder()
		h.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
		if r.Code != http.StatusTeapot || r.Body.String() != "some text" || r.Header().Get("X-Test") != "1" {
			t.Errorf("the answer is %d %q %v", r.Code, r.Body, r.Header())
		}
		close(block)
	})
}

// For any number of requests, the metrics are gathered ten times a second.
func TestOneAnswerIsForAllWhoAskWithinATenthOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		h := gathered(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			made++
			if len(r.Header) > 0 {
				t.Errorf("the answer depends on %v", r.Header)
			}
			fmt.Fprintf(w, "answer %d", made)
		}))
		begun := time.Now()
		for time.Since(begun) < 950*time.Millisecond {
			r := httptest.NewRecorder()
			asked := httptest.NewRequest("GET", "/metrics", nil)
			asked.Header.Set("Accept-Encoding", "gzip")
			h.ServeHTTP(r, asked)
			if want := fmt.Sprintf("answer %d", 1+time.Since(begun)/answerAge); r.Body.String() != want ||
				r.Header().Get("Content-Length") != "8" && made < 10 {
				t.Fatalf("after %v: %q %v, want %q", time.Since(begun), r.Body, r.Header(), want)
			}
			time.Sleep(time.Millisecond)
		}
		if made != 10 {
			t.Errorf("%d answers are made, want 10", made)
		}
	})
}

// asking makes clients send requests from an address for a second, each again as soon as it is
// answered.
func asking(t *testing.T, h http.Handler, clients int, addr func(i int) string) (answers int) {
	t.Helper()
	var all sync.WaitGroup
	var n atomic.Int64
	begun := time.Now()
	for i := range clients {
		all.Go(func() {
			for time.Since(begun) < time.Second && n.Load() < 100_000 {
				r := httptest.NewRequest("GET", "/metrics", nil)
				r.RemoteAddr = addr(i)
				h.ServeHTTP(httptest.NewRecorder(), r)
				n.Add(1)
			}
		})
	}
	all.Wait()
	return int(n.Load())
}

func TestRequestsForMetricsHaveAPaceOfAHostAndOfAll(t *testing.T) {
	for _, c := range []struct {
		name    string
		clients int
		addr    func(i int) string
		want    int
	}{
		{"an address", 16, func(int) string { return "192.0.2.1:1" }, 20 + 10 + 16},
		{"a /64", 16, func(i int) string { return fmt.Sprintf("[2001:db8::%x]:1", i) }, 20 + 10 + 16},
		{"a link", 16, func(i int) string { return fmt.Sprintf("[fe80::%x%%eth0]:1", i) }, 20 + 10 + 16},
		{"all", 64, func(i int) string { return fmt.Sprintf("192.0.2.%d:1", i) }, 200 + 200 + 64},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := paced(http.NotFoundHandler(), nil)
			if n := asking(t, h, c.clients, c.addr); n > c.want || n < c.want-c.clients {
				t.Errorf("%d requests of %s are answered in a second, want %d", n, c.name, c.want)
			}
		})
	}
}

// While one host sends requests without pause, another one is answered at once.
func TestAHostThatAsksTooOftenMakesItselfWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := paced(http.NotFoundHandler(), nil)
		var flood sync.WaitGroup
		defer flood.Wait()
		flood.Go(func() { asking(t, h, 16, func(int) string { return "192.0.2.1:1" }) })
		time.Sleep(500 * time.Millisecond)
		for range 10 {
			now := time.Now()
			r := httptest.NewRequest("GET", "/metrics", nil)
			r.RemoteAddr = "192.0.2.2:1"
			h.ServeHTTP(httptest.NewRecorder(), r)
			if d := time.Since(now); d > 0 {
				t.Errorf("another host waits for %v", d)
			}
		}
	})
}

func TestRequestsThatWaitEndWithTheDaemon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		h := paced(http.NotFoundHandler(), over)
		codes := make(chan int, 100)
		for range 30 {
			go func() {
				r := httptest.NewRecorder()
				h.ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
				codes <- r.Code
			}()
		}
		synctest.Wait()
		if n := len(codes); n != 20 {
			t.Errorf("%d requests are answered at once, want 20", n)
		}
		close(over)
		synctest.Wait()
		if n := len(codes); n != 30 {
			t.Errorf("%d requests are over when the daemon is, want 30", n)
		}
	})
}

// stuck is a client that reads only when permitted.
type stuck struct {
	*httptest.ResponseRecorder
	may chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.may
	return s.ResponseRecorder.Write(b)
}
