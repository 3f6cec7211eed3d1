package daemon

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

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
		first.Close() // counts once
		call("192.0.2.3", true)
		call("192.0.2.1", false)
	})
}

// A client that does not read has its answer made, and holds nobody up.
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
			go h.ServeHTTP(&stuck{httptest.NewRecorder(), block}, httptest.NewRequest("GET", "/metrics", strings.NewReader("")))
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

// stuck is a client that reads only when it may.
type stuck struct {
	*httptest.ResponseRecorder
	may chan struct{}
}

func (s *stuck) Write(b []byte) (int, error) {
	<-s.may
	return s.ResponseRecorder.Write(b)
}
