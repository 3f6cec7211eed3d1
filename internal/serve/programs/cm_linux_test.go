//go:build linux && (amd64 || arm64)

package programs

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// cmHost is a host whose programs connect by rdma_cm.
type cmHost struct {
	*testing.T
	*Host
	dev  *verbs.Device
	addr string
}

func cmHostOn(t *testing.T, addr string) *cmHost {
	t.Helper()
	h, dev := hostAndDevice(t, addr)
	return &cmHost{t, h, dev, addr}
}

// await waits until the listeners of all programs are as they should be.
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

// connect runs a server and a client of a tool. In the lines ADDR is the device's address and PORT the port; without it that
// is the tools' own.
func (h *cmHost) connect(ps verbs.PortSpace, port int, server, client string) (atServer, atClient string) {
	h.Helper()
	if !strings.Contains(server, "PORT") {
		port = 7174
	}
	words := strings.NewReplacer("ADDR", h.addr, "PORT", strconv.Itoa(port))
	s := start(h.T, h.Host, words.Replace(server))
	h.await(s, "it does not listen", func(all []verbs.ListenerInfo) bool {
		return slices.ContainsFunc(all, func(l verbs.ListenerInfo) bool { return l.PortSpace == ps && int(l.Local.Port()) == port })
	})
	c := start(h.T, h.Host, words.Replace(client))
	atClient = c.wait()
	atServer = s.wait()
	h.await(s, "it leaves a listener", func(all []verbs.ListenerInfo) bool { return len(all) == 0 })
	return atServer, atClient
}

func TestProgramsConnectByRDMACM(t *testing.T) {
	h := cmHostOn(t, "127.55.15.5")
	for i, c := range []struct {
		ps             verbs.PortSpace
		server, client string
		says           string // by the client
	}{
		{verbs.PortSpaceTCP, "rping -s -a ADDR -p PORT -C 20 -v", "rping -c -a ADDR -p PORT -C 20 -v", "ping data: rdma-ping-19"},
		{verbs.PortSpaceTCP, "rping -s -a ADDR -p PORT -C 20 -S 4096 -V", "rping -c -a ADDR -p PORT -C 20 -S 4096 -V", ""},
		{verbs.PortSpaceTCP, "ib_write_bw -F -R -p PORT -n 100", "ib_write_bw -F -R -p PORT -n 100 ADDR", "#bytes"},
		{verbs.PortSpaceTCP, "ib_send_lat -F -R -p PORT -n 100", "ib_send_lat -F -R -p PORT -n 100 ADDR", "#bytes"},
		{verbs.PortSpaceTCP, "ucmatose -b ADDR -p PORT -c 10 -C 10", "ucmatose -s ADDR -p PORT -c 10 -C 10", "return status 0"},
		{verbs.PortSpaceTCP, "rdma_server -s ADDR -p PORT", "rdma_client -s ADDR -p PORT", "end 0"},
		{verbs.PortSpaceUDP, "udaddy -b ADDR -c 5 -C 5", "udaddy -s ADDR -c 5 -C 5", "return status 0"},
	} {
		t.Run(c.client, func(t *testing.T) {
			h := *h
			h.T = t
			if _, out := h.connect(c.ps, 22000+i, c.server, c.client); !strings.Contains(out, c.says) {
				t.Error(out)
			}
		})
	}
}
