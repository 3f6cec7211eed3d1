//go:build linux && (amd64 || arm64)

package programs

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/vishvananda/netlink"
)

// follows runs a program and returns what gives its next line of output, which has to come within a minute.
func follows(t *testing.T, h *Host, line string) (next func() string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	p := startTo(t, h, "stdbuf -oL "+line, w)
	lines := bufio.NewScanner(r)
	return func() string {
		t.Helper()
		late := time.AfterFunc(time.Minute, func() { _ = p.proc.Signal(9) })
		defer late.Stop()
		w.Close() // of this process, so that the end of the program ends the output
		if !lines.Scan() {
			t.Fatalf("%s ended: %v", line, lines.Err())
		}
		return lines.Text()
	}
}

func TestAsyncwatchPrintsEventsOfThePort(t *testing.T) {
	if _, err := exec.LookPath("ibv_asyncwatch"); err != nil {
		t.Skip("ibv_asyncwatch is not installed")
	}
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{"198.18.46.1/24"}})
	h := hostOf(t, func() (d *verbs.Device, err error) {
		testnet.In(t, hosts.Left, func() error {
			d, err = verbs.Open(verbs.Config{Device: testnet.Interface, Follow: true})
			return err
		})
		return d, err
	})
	next := follows(t, h, "ibv_asyncwatch")
	if got := next(); !strings.HasPrefix(got, "rxe0: async event FD") {
		t.Fatalf("it begins with %q", got)
	}
	for _, c := range []struct {
		do   func(netlink.Link) error
		want string
	}{
		{netlink.LinkSetDown, "  event_type IBV_EVENT_PORT_ERR (10), port 1"},
		{netlink.LinkSetUp, "  event_type IBV_EVENT_PORT_ACTIVE (9), port 1"},
		{func(l netlink.Link) error { return netlink.AddrAdd(l, address(t, "198.18.46.3/24")) },
			"  event_type IBV_EVENT_GID_CHANGE (18), port 1"},
	} {
		testnet.OnInterface(t, hosts.Left, c.do)
		for next() != c.want { // the link-local address comes and goes as well
		}
	}
}

func address(t *testing.T, text string) *netlink.Addr {
	t.Helper()
	a, err := netlink.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
