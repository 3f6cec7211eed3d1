//go:build linux && (amd64 || arm64)

package programs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/trap"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// namespaceVariable is set in a process of the test binary with its own network namespace.
const namespaceVariable = "GORXE_PROGRAMS_NETNS"

// inOwnNamespace runs the test again in a process with its own network namespace, and returns
// true there. The namespace has the interface rdma0 with an address, because libfabric does not
// use loopback interfaces.
func inOwnNamespace(t *testing.T, addr string) bool {
	t.Helper()
	if os.Getenv(namespaceVariable) != "" {
		if err := addInterface(addr); err != nil {
			t.Fatal(err)
		}
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	if err := trap.Probe(); err != nil {
		t.Skipf("no programs can be run here: %v", err)
	}
	c := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), namespaceVariable+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// addInterface creates rdma0, and sets it and lo up.
func addInterface(addr string) error {
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "rdma0"}, PeerName: "cable"}
	if err := netlink.LinkAdd(veth); err != nil {
		return err
	}
	a, err := netlink.ParseAddr(addr + "/24")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(veth, a); err != nil {
		return err
	}
	for _, name := range []string{"lo", "rdma0", "cable"} {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
	}
	return nil
}

// fabrics parses the output of fi_info: the names and values of each interface.
func fabrics(text string) (all []map[string]string) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		if name == "provider" {
			all = append(all, map[string]string{})
		}
		if len(all) > 0 {
			all[len(all)-1][name] = value
		}
	}
	return all
}

func TestLibfabricFindsTheDevice(t *testing.T) {
	require(t, "fi_info")
	const addr = "198.18.61.1"
	if !inOwnNamespace(t, addr) {
		return
	}
	eachWay(t, func(t *testing.T, w way) {
		out := start(t, w.hostOn(t, addr), "fi_info -p verbs").wait()
		found := map[string]bool{}
		for _, f := range fabrics(out) {
			found[f["provider"]+" "+f["type"]+" "+f["domain"]] = true
		}
		for _, want := range []string{
			"verbs FI_EP_MSG rxe0", "verbs FI_EP_DGRAM rxe0-dgram", "verbs;ofi_rxm FI_EP_RDM rxe0",
		} {
			if !found[want] {
				t.Errorf("fi_info lacks %q:\n%s", want, out)
			}
		}
	})
}

// closedTooEarly matches the output of fi_pingpong when the provider ofi_rxm of libfabric 1.17
// crashes. If the last message and the end of the connection arrive between two polls of the
// completion queue, it closes the endpoint first, and then posts the message's buffer to it
// again.
var closedTooEarly = regexp.MustCompile(`fi_pingpong:\d+ terminated with signal 11 .*\n\S*/libfabric\.so`)

func TestLibfabricExchangesMessages(t *testing.T) {
	require(t, "fi_pingpong")
	const addr = "198.18.62.1"
	if !inOwnNamespace(t, addr) {
		return
	}
	t.Chdir(t.TempDir()) // for the backtrace that a library writes when it crashes
	port := 21850
	eachWay(t, func(t *testing.T, w way) {
		h, dev := w.deviceOn(t, addr)
		for _, line := range []string{
			"fi_pingpong -p verbs -e msg", "fi_pingpong -p verbs;ofi_rxm -e rdm",
		} {
			t.Run(line, func(t *testing.T) {
				port++
				const size, times = 4096, 50
				before := bytesSent(dev)
				line := fmt.Sprintf("%s -c -S %d -I %d ", line, size, times)
				s := start(t, h, fmt.Sprintf("%s-B %d", line, port))
				ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("it does not listen"))
				defer cancel()
				if err := awaitTCP(ctx, port); err != nil {
					t.Fatalf("%v\n%s", err, s.text())
				}
				for _, r := range []*running{start(t, h, fmt.Sprintf("%s-P %d %s", line, port, addr)), s} {
					out, status := r.ended()
					if !strings.Contains(out, fmt.Sprintf("%-8d=%-8d", times, times)) {
						t.Errorf("no %d messages were exchanged:\n%s", times, out)
					}
					if status.ExitStatus() != 0 && !closedTooEarly.MatchString(out) {
						t.Errorf("%s ended with %v:\n%s", r.line, status.ExitStatus(), out)
					}
				}
				requireSent(t, dev, before, 2*times*size)
			})
		}
	})
}
