//go:build linux && (amd64 || arm64)

package programs

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// cmHost is a host whose programs connect through rdma_cm.
type cmHost struct {
	*testing.T
	server
	dev  *verbs.Device
	addr string
}

func (w way) cmHostOn(t *testing.T, addr string) *cmHost {
	t.Helper()
	h, dev := w.deviceOn(t, addr)
	return &cmHost{t, h, dev, addr}
}

// await waits until the listeners of all programs satisfy the condition.
func (h *cmHost) await(s *running, what string, is func([]verbs.ListenerInfo) bool) {
	h.Helper()
	ctx, cancel := context.WithTimeoutCause(h.Context(), 30*time.Second, errors.New(what))
	defer cancel()
	for !is(h.dev.Listeners()) {
		select {
		case <-ctx.Done():
			h.Fatalf("%s: %v\n%s", s.line, context.Cause(ctx), s.text())
		case <-time.After(time.Millisecond):
		}
	}
}

// A tool is a program with a server and a client. In the command lines ADDR is the device's
// address and PORT the port.
type tool struct {
	port           int // of a tool with a fixed port, 0 for PORT
	ps             verbs.PortSpace
	server, client string
	says           string // in the client's output
	stays          bool   // the server does not end with the client
	trixie         string // additional options of the client of Debian trixie
}

// tooEarly is the error of a perftest client that was faster than its server: the server closes
// its first listener, over which both agree on the test, and only then listens for the connection
// of the test.
const tooEarly = "RDMA_CM_EVENT_REJECTED; error: 8"

// run runs a tool until its client has ended, and its server unless that stays.
func (h *cmHost) run(port int, c tool) {
	h.Helper()
	if c.port != 0 {
		port = c.port
	}
	words := strings.NewReplacer("ADDR", h.addr, "PORT", strconv.Itoa(port))
	s := start(h.T, h.server, words.Replace(c.server))
	h.await(s, "it does not listen", func(all []verbs.ListenerInfo) bool {
		return slices.ContainsFunc(all, func(l verbs.ListenerInfo) bool {
			return l.PortSpace == c.ps && int(l.Local.Port()) == port
		})
	})
	client := start(h.T, h.server, words.Replace(c.client))
	out, status := client.ended()
	again := strings.Contains(out, tooEarly)
	if !again && (status.ExitStatus() != 0 || !strings.Contains(out, c.says)) {
		h.Fatalf("%s ended with %v:\n%s\n%s", client.line, status.ExitStatus(), out, s.text())
	}
	if c.stays || again {
		s.end()
	} else {
		s.wait()
	}
	h.await(s, "it leaves a listener", func(all []verbs.ListenerInfo) bool { return len(all) == 0 })
	if again {
		h.run(port, c)
	}
}

func TestProgramsConnectByRDMACM(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) { w.cmHostOn(t, "127.55.17.1").runTools(22000, "") })
}

// runTools runs cmTools, from a port on, of the release that in selects: see inTrixie.
func (h *cmHost) runTools(port int, in string) {
	from, to := filepath.Join(h.TempDir(), "from"), filepath.Join(h.TempDir(), "to")
	text := bytes.Repeat([]byte("gorxe"), 100_000)
	if err := os.WriteFile(from, text, 0o600); err != nil {
		h.Fatal(err)
	}
	for i, c := range cmTools(from, to) {
		h.Run(c.client, func(t *testing.T) {
			h := *h
			h.T = t
			if in != "" {
				c.client += c.trixie
			}
			c.server, c.client = in+c.server, in+c.client
			h.run(port+i, c)
		})
	}
	if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, text) {
		h.Errorf("rcopy has copied %d bytes of %d, %v", len(got), len(text), err)
	}
}

func TestQperfConnectsByRDMACM(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h := w.cmHostOn(t, "127.55.17.2")
		s := start(t, h.server, "qperf -lp 22050")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("it does not listen"))
		defer cancel()
		if err := awaitTCP(ctx, 22050); err != nil {
			t.Fatalf("%v\n%s", err, s.text())
		}
		// Without -P the alarm at the end of a test can interrupt the system call that requests
		// the next completion event, and qperf then waits forever.
		for test, want := range map[string]string{"rc_bw": "bw", "rc_lat": "latency"} {
			out := "Event rejected"
			// The server prints its port before it listens there.
			for strings.Contains(out, "Event rejected") && ctx.Err() == nil {
				out, _ = start(t, h.server, "qperf -lp 22050 "+h.addr+" -cm1 -P 1 -t 1 "+test).ended()
			}
			if !strings.Contains(out, want+" ") {
				t.Errorf("%s:\n%s", test, out)
			}
		}
	})
}

func TestMckeySendsToAGroup(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) { w.cmHostOn(t, "127.55.17.3").sendToAGroup("239.55.17.3", "") })
}

// sendToAGroup runs mckey, of the release that in selects: see inTrixie.
func (h *cmHost) sendToAGroup(group, in string) {
	line := in + "mckey -m " + group + " -b " + h.addr + " -c 1 -C 5"
	s := start(h.T, h.server, line)
	h.await(s, "it does not join", func([]verbs.ListenerInfo) bool { return len(h.dev.Groups()) > 0 })
	if out := start(h.T, h.server, line+" -s").wait(); !strings.Contains(out, "return status 0") {
		h.Error(out)
	}
	s.wait()
}

func TestAKilledProgramsPeerIsTold(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h := w.cmHostOn(t, "127.55.17.4")
		s := start(t, h.server, "rping -s -a "+h.addr+" -p 22060")
		h.await(s, "it does not listen", func(all []verbs.ListenerInfo) bool { return len(all) > 0 })
		c := start(t, h.server, "rping -c -a "+h.addr+" -p 22060 -v")
		h.await(c, "it does not ping",
			func([]verbs.ListenerInfo) bool { return strings.Contains(c.text(), "rdma-ping-1:") })
		s.end()
		if out, _ := c.ended(); !strings.Contains(out, "DISCONNECT EVENT") {
			t.Error(out)
		}
	})
}
