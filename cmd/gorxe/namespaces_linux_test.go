package main

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// netHost is a network namespace with one end of a veth pair. Both ends have the same interface
// name.
type netHost struct {
	ns     netns.NsHandle
	v4, v6 netip.Addr
}

// newNetHosts makes two hosts; net distinguishes the addresses of tests.
func newNetHosts(t *testing.T, net int) (left, right netHost) {
	t.Helper()
	needPrograms(t, "nsenter")
	for i, h := range []*netHost{&left, &right} {
		h.v4 = netip.MustParseAddr(fmt.Sprintf("198.18.%d.%d", net, i+1))
		h.v6 = netip.MustParseAddr(fmt.Sprintf("fd00:%d::%d", net, i+1))
	}
	ends := func(h netHost) []string { return []string{h.v4.String() + "/24", h.v6.String() + "/64"} }
	hosts := testnet.Connect(t, testnet.Cable{MTU: 1500, Left: ends(left), Right: ends(right)})
	left.ns, right.ns = hosts.Left, hosts.Right
	return left, right
}

// enter returns the beginning of a command line that runs the rest of it on the host.
func (h netHost) enter() string {
	return fmt.Sprintf("nsenter --net=/proc/%d/fd/%d ", os.Getpid(), int(h.ns))
}

// awaitPort waits until a process listens on a TCP port of the host.
func (h netHost) awaitPort(t *testing.T, port int) {
	t.Helper()
	testnet.In(t, h.ns, func() error {
		awaitPort(t, port)
		return nil
	})
}

// findGID returns a shell expression for the index of an address in the GID table of a program's
// device.
func findGID(a netip.Addr) string {
	b := a.As16()
	var words []string
	for i := 0; i < len(b); i += 2 {
		words = append(words, fmt.Sprintf("%02x%02x", b[i], b[i+1]))
	}
	return "$(basename $(grep -l " + strings.Join(words, ":") + " /sys/class/infiniband/rxe0/ports/1/gids/*))"
}

// A netTool is a program with a server and a client. In the lines ADDR is the server's address,
// V4 its IPv4 address, GID the index of the host's own address, and PORT the port.
type netTool struct {
	server, client string
	says           string // printed by the client
	cm             bool   // the client connects with rdma_cm
}

var netTools = []netTool{
	// perftest 4.5 exchanges its parameters over IPv4.
	{server: "ib_write_bw -F -n 200 -x GID -p PORT", client: "ib_write_bw -F -n 200 -x GID -p PORT V4", says: "#bytes"},
	{
		server: "ibv_rc_pingpong -e -n 50 -g GID -p PORT", client: "ibv_rc_pingpong -e -n 50 -g GID -p PORT ADDR",
		says: "iters in",
	},
	{server: "rping -s -a ADDR -p PORT -C 5", client: "rping -c -a ADDR -p PORT -C 5 -v",
		says: "rdma-ping-4", cm: true},
}

func TestTwoNetworkNamespacesExchangeMessages(t *testing.T) {
	needPrograms(t, "ib_write_bw", "ibv_rc_pingpong", "rping")
	for way, c := range []struct {
		name, enter, run string
		tools            []netTool
	}{
		{name: "daemons", run: "gorxe run", tools: netTools},
		{name: "daemons of an ordinary user", enter: "-S 65534 -G 65534 ", run: "gorxe run", tools: netTools[:1]},
		{name: "no daemons", run: "gorxe run --no-daemon -d veth0", tools: netTools},
	} {
		t.Run(c.name, func(t *testing.T) {
			left, right := newNetHosts(t, 58)
			p := newPlace(t)
			if c.enter != "" {
				p.asUser()
				p.user = nil // nsenter needs root and changes the user itself
			}
			for i, tool := range c.tools {
				for j, family := range []func(netHost) netip.Addr{
					func(h netHost) netip.Addr { return h.v4 }, func(h netHost) netip.Addr { return h.v6 },
				} {
					port := 21900 + 10*way + 2*i + j
					server := family(left)
					line := func(h netHost, program string) string {
						program = strings.NewReplacer("ADDR", server.String(), "V4", left.v4.String(),
							"GID", findGID(family(h)), "PORT", fmt.Sprint(port)).Replace(program)
						return h.enter() + c.enter + c.run + " -- sh -c 'exec " + program + "'"
					}
					s := p.background(line(left, tool.server))
					if !tool.cm {
						left.awaitPort(t, port)
					}
					var out string
					until(t, tool.client+" does not get through", func() bool {
						var err error
						out, err = p.run(line(right, tool.client))
						if !tool.cm && err != nil {
							t.Fatalf("%s, %v: %v\n%s", tool.client, server, err, out)
						}
						return err == nil // with rdma_cm it fails before the server listens
					})
					if !strings.Contains(out, tool.says) {
						t.Errorf("%s, %v:\n%s", tool.client, server, out)
					}
					if err := s.Wait(); err != nil {
						t.Errorf("the server of %s, %v: %v\n%s", tool.client, server, err, &s.out)
					}
				}
			}
			if all := p.started(); len(all) != 2 && way < 2 || len(all) != 0 && way == 2 {
				t.Errorf("daemons: %v", all)
			}
		})
	}
}

// A socket is a file, which is visible in all network namespaces.
func TestADaemonOfAnotherNetworkNamespaceIsUsedOnlyIfItsSocketIsNamed(t *testing.T) {
	needPrograms(t, "ibv_devinfo")
	left, right := newNetHosts(t, 59)
	p := newPlace(t)
	const serves = "gorxe daemon --rping=false --perftest=false --pingpong=false --device veth0"
	d := p.start(left.enter() + serves)
	for _, c := range []struct {
		in   netHost
		run  string
		want netHost
	}{
		{left, "gorxe run", left},
		{left, "gorxe run -d veth0", left},
		{right, "gorxe run", right},
		{right, "gorxe run -d veth0", right},
		{right, "gorxe run -d " + right.v4.String(), right},
		{right, "gorxe run --socket run/programs.sock", left},
		{right, "env GORXE_SOCKET=run/programs.sock gorxe run", left},
	} {
		out, err := p.run(c.in.enter() + c.run + " -- ibv_devinfo -v")
		if err != nil || !strings.Contains(out, "::ffff:"+c.want.v4.String()) {
			t.Errorf("%s: %v, its device does not have the address %v\n%s", c.run, err, c.want.v4, out)
		}
	}
	// The message helps users for whom no daemon can be started.
	out, err := p.run(right.enter() + "gorxe run -d gorxe0 -- true")
	if err == nil || !strings.Contains(out, "name its socket with --socket") || strings.Count(out, "gorxe: ") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
	if err := p.stop(d, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if all := p.started(); len(all) != 1 {
		t.Errorf("daemons: %v", all)
	}
}

func TestCommandsFindTheDaemonOfTheirOwnNetworkNamespace(t *testing.T) {
	left, right := newNetHosts(t, 60)
	p := newPlace(t)
	for _, h := range []netHost{left, right} {
		if out, err := p.run(h.enter() + "gorxe run -- true"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, h := range []netHost{left, right} {
		s := ask[control.Status](p, h.enter()+"gorxe status --json")
		is := func(g control.GID) bool { return g.Addr == h.v4 }
		if len(s.Devices) != 1 || !slices.ContainsFunc(s.Devices[0].GIDs, is) {
			t.Errorf("the daemon does not have the address %v: %+v", h.v4, s.Devices)
		}
	}
	if left, err := filepath.Glob(filepath.Join(p.dir, "run", "daemon-veth0-*.log")); err != nil || len(left) != 2 {
		t.Errorf("logs: %v, %v", left, err)
	}
}
