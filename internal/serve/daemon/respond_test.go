package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
	"github.com/gorxe/gorxe/verbs"
)

// called is a connection in memory between a host and the rig's device.
type called struct{ net.Conn }

func (called) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:18515"))
}
func (called) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.9:40000"))
}

// A daemon with its defaults answers a pingpong client, counts it in its metrics, and ends it
// when it stops.
func TestADaemonAnswersPingpongs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(`metrics.listen = "127.0.0.1:9481"`)
		<-r.told
		d, _ := r.host("192.0.2.9")
		defer d.Close()
		cq, err := d.CreateCQ(8)
		if err != nil {
			t.Fatal(err)
		}
		pd := d.AllocPD()
		buf := []byte("there and back")
		mr, err := pd.RegMR(buf, verbs.LocalWrite)
		if err != nil {
			t.Fatal(err)
		}
		q, err := pd.CreateQP(verbs.QPInitAttr{SendCQ: cq})
		if err != nil {
			t.Fatal(err)
		}
		mine, err := q.Local(0, 7)
		if err != nil {
			t.Fatal(err)
		}
		a, b := net.Pipe()
		r.tools.Give(called{b})
		var peer pingpong.Dest
		say := pingpong.Dest{QPN: uint32(mine.QPN), PSN: 7, GID: mine.GID}
		answer := make([]byte, pingpong.Len)
		if _, err := a.Write(say.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(a, answer); err != nil {
			t.Fatal(err)
		}
		if err := peer.Decode(answer); err != nil {
			t.Fatal(err)
		}
		attr := verbs.DefaultConnAttr()
		attr.PathMTU = 1024
		if err := q.Connect(mine, verbs.ConnInfo{QPN: verbs.QPN(peer.QPN), PSN: verbs.PSN(peer.PSN), GID: peer.GID},
			attr); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Write([]byte(pingpong.Done)); err != nil {
			t.Fatal(err)
		}
		a.Close()
		err = errors.Join(
			q.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{mr.SGE(0, len(buf))}}),
			q.PostSend(&verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{mr.SGE(0, len(buf))}}))
		if err != nil {
			t.Fatal(err)
		}
		var wc [2]verbs.WC
		if n, err := cq.Wait(t.Context(), wc[:]); err != nil || n != 1 || wc[0].Opcode != verbs.WCRecv ||
			wc[0].ByteLen != uint32(len(buf)) {
			t.Errorf("%d completions, %v: %+v", n, err, wc[0])
		}
		if text := r.scrape(); !strings.Contains(text, `gorxe_responder_sessions_total{tool="pingpong"} 1`) ||
			!strings.Contains(text, `gorxe_responder_ended_total{reason="silent"} 0`) {
			t.Error(text)
		}
		time.Sleep(2 * time.Second)
		r.stop()
		begun := time.Now()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		if d := time.Since(begun); d > time.Second {
			t.Errorf("it took %v to end a pingpong that is silent", d)
		}
		<-r.told
	})
}

// A daemon with a payload checks the data of perftest clients, and counts what was right.
func TestADaemonChecksThePayload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.txt")
	if err := os.WriteFile(file, []byte("0x01020304"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(fmt.Sprintf("metrics.listen = \":9481\"\nservice.perftest.payload = %q", file))
		<-r.told
		a, b := net.Pipe()
		r.tools.Give(called{b})
		for _, item := range []struct {
			say    []byte
			answer int
		}{
			{perftest.AppendVersion(nil, "5.98"), perftest.VersionLen},
			{perftest.AppendWord(nil, 4096), perftest.WordLen},
			{perftest.AppendWord(nil, 64), perftest.WordLen}, {perftest.AppendMTU(nil, 3), perftest.MTULen},
		} {
			if _, err := a.Write(item.say); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(a, make([]byte, item.answer)); err != nil {
				t.Fatal(err)
			}
		}
		a.Close()
		for _, want := range []string{"gorxe_responder_checked_messages_total 0",
			"gorxe_responder_checked_bytes_total 0", `gorxe_responder_ended_total{reason="wrong_payload"} 0`} {
			if text := r.scrape(); !strings.Contains(text, want) {
				t.Errorf("there is no %s:\n%s", want, text)
			}
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		<-r.told
		if want := "messages_checked=0 bytes_checked=0"; !strings.Contains(r.log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, &r.log)
		}
	})
}

// scrape returns the response for Prometheus.
func (r *rig) scrape() string {
	r.t.Helper()
	c := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return r.metrics.Dial(ctx)
	}, DisableKeepAlives: true}}
	answer, err := c.Get("http://memory/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// The error about a port of the built-in server that is in use includes a remedy.
func TestADaemonSaysWhichPortIsInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.opts.TCP = func(string) (net.Listener, error) {
			return nil, fmt.Errorf("listen: %w", &os.SyscallError{Syscall: "bind", Err: syscall.EADDRINUSE})
		}
		r.start("")
		want := "service perftest and pingpong: TCP port 18515 is in use: choose another with --perftest-port and --pingpong-port, or do without with --perftest=false --pingpong=false"
		if err := <-r.end; err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	})
}

// A client that connects and disconnects as fast as it can gets a few log lines, and one line for
// the rest.
func TestAClientDoesNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 50 // more are not served at once
		r := newRig(t)
		r.start(`metrics.listen = "127.0.0.1:9481"`)
		<-r.told
		for range clients {
			a, b := net.Pipe()
			r.tools.Give(called{b})
			if _, err := a.Write(perftest.AppendVersion(nil, "5.98")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(a, make([]byte, perftest.VersionLen)); err != nil {
				t.Fatal(err)
			}
			a.Close()
			synctest.Wait()
		}
		if text := r.scrape(); !strings.Contains(text, `gorxe_responder_ended_total{reason="hung_up"} 50`) ||
			!strings.Contains(text, "gorxe_log_lines_suppressed_total 40") {
			t.Error(text)
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		<-r.told
		log := r.log.String()
		if n := strings.Count(log, "session ended early"); n != 11 || !strings.Contains(log,
			`msg="log lines suppressed" lines=40 messages="session ended early: 40" latest_peer=192.0.2.9`) {
			t.Errorf("%d lines:\n%s", n, log)
		}
	})
}
