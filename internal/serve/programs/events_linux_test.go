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
	"github.com/vishvananda/netns"
)

// follows runs a program and returns a function that returns its next line of output, which must
// come within a minute.
func follows(t *testing.T, h server, line string) (next func() string) {
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
		w.Close() // of this process, so that the output ends with the program
		if !lines.Scan() {
			t.Fatalf("%s ended: %v", line, lines.Err())
		}
		return lines.Text()
	}
}

// watched returns a host whose device follows the interface of another network namespace, and the
// output of ibv_asyncwatch there, of the release that in selects: see inTrixie.
func (w way) watched(t *testing.T, addr, in string) (h server, ns netns.NsHandle, next func() string) {
	t.Helper()
	if _, err := exec.LookPath("ibv_asyncwatch"); err != nil {
		t.Skip("ibv_asyncwatch is not installed")
	}
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: []string{addr}})
	h, _ = w.of(t, func() (d *verbs.Device, err error) {
		testnet.In(t, hosts.Left, func() error {
			d, err = verbs.Open(verbs.Config{Device: testnet.Interface, Follow: true})
			return err
		})
		return d, err
	})
	next = follows(t, h, in+"ibv_asyncwatch")
	if got := next(); !strings.HasPrefix(got, "rxe0: async event FD") {
		t.Fatalf("it begins with %q", got)
	}
	return h, hosts.Left, next
}

func TestAsyncwatchPrintsEventsOfThePort(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		_, ns, next := w.watched(t, "198.18.46.1/24", "")
		printsEventsOfThePort(t, ns, next)
	})
}

func printsEventsOfThePort(t *testing.T, ns netns.NsHandle, next func() string) {
	t.Helper()
	for _, c := range []struct {
		do   func(netlink.Link) error
		want string
	}{
		{netlink.LinkSetDown, "  event_type IBV_EVENT_PORT_ERR (10), port 1"},
		{netlink.LinkSetUp, "  event_type IBV_EVENT_PORT_ACTIVE (9), port 1"},
		{func(l netlink.Link) error { return netlink.AddrAdd(l, address(t, "198.18.46.3/24")) },
			"  event_type IBV_EVENT_GID_CHANGE (18), port 1"},
	} {
		testnet.OnInterface(t, ns, c.do)
		for next() != c.want { // the link-local address also comes and goes
		}
	}
}

func TestFilesOfTheDeviceFollowTheHost(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h, ns, next := w.watched(t, "198.18.47.1/24", "")
		const (
			ports  = "/sys/class/infiniband/rxe0/ports/1/"
			first  = "0000:0000:0000:0000:0000:ffff:c612:2f01"
			second = "0000:0000:0000:0000:0000:ffff:c613:2f03"
		)
		change := func(f func(netlink.Link, *netlink.Addr) error, text string) func(netlink.Link) error {
			return func(l netlink.Link) error { return f(l, address(t, text)) }
		}
		for _, c := range []struct {
			step string
			do   func(netlink.Link) error
			file string
			is   func(text string) bool
		}{
			{"an address comes", change(netlink.AddrAdd, "198.19.47.3/24"), "gids", func(s string) bool {
				return strings.Contains(s, first) && strings.Contains(s, second)
			}},
			{"the first one goes", change(netlink.AddrDel, "198.18.47.1/24"), "gids", func(s string) bool {
				return !strings.Contains(s, first) && strings.Contains(s, second)
			}},
			{"the interface is set down", netlink.LinkSetDown, "state",
				func(s string) bool { return strings.HasSuffix(s, "1: DOWN\n") }},
			{"the interface is set up", netlink.LinkSetUp, "state",
				func(s string) bool { return strings.HasSuffix(s, "4: ACTIVE\n") }},
		} {
			testnet.OnInterface(t, ns, c.do)
			// A program that has read the event finds the current files.
			for {
				next()
				if c.is(start(t, h, "grep -r . "+ports+c.file).wait()) {
					break
				}
			}
		}
		// All files of an entry are added and removed together; the link-local address may be
		// added in between.
		for _, dir := range []string{"gid_attrs/types", "gid_attrs/ndevs"} {
			until(t, dir+" has the files of gids", func() bool {
				return start(t, h, "ls "+ports+"gids").wait() == start(t, h, "ls "+ports+dir).wait()
			})
		}
	})
}

func address(t *testing.T, text string) *netlink.Addr {
	t.Helper()
	a, err := netlink.ParseAddr(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
