package pair

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// ground holds the addresses of both ends for each path and address family, and the network
// namespaces of a lane.
type ground struct {
	// netns are the namespaces of the server and the client over veth; loopback uses the first.
	// "": the current namespace.
	netns [2]string
	addr  map[Path]map[cell.Family][2]netip.Addr
}

// newGround makes the namespaces of a lane. Without root there is only the existing loopback
// interface, with one IPv6 address.
func newGround(ctx context.Context, lane int) (*ground, error) {
	pair := func(format string) [2]netip.Addr {
		return [2]netip.Addr{netip.MustParseAddr(fmt.Sprintf(format, lane, 1)),
			netip.MustParseAddr(fmt.Sprintf(format, lane, 2))}
	}
	g := &ground{addr: map[Path]map[cell.Family][2]netip.Addr{Loopback: {cell.IPv4: pair("127.90.%d.%d")}}}
	if os.Geteuid() != 0 {
		return g, nil
	}
	for i, end := range []string{"a", "b"} {
		g.netns[i] = fmt.Sprintf("gorxe-%d-%d%s", os.Getpid(), lane, end)
	}
	g.addr[Loopback][cell.IPv6] = pair("fd00:18:%d::1:%d")
	g.addr[Veth] = map[cell.Family][2]netip.Addr{cell.IPv4: pair("198.18.%d.%d"), cell.IPv6: pair("fd00:18:%d::2:%d")}
	return g, g.build(ctx)
}

func (g *ground) build(ctx context.Context) error {
	var cmds []string
	for _, ns := range g.netns {
		cmds = append(cmds, "netns add "+ns, "-n "+ns+" link set lo up")
	}
	cmds = append(cmds, fmt.Sprintf("-n %s link add v0 mtu 9000 type veth peer name v0 mtu 9000 netns %s",
		g.netns[0], g.netns[1]))
	for i, ns := range g.netns {
		cmds = append(cmds,
			fmt.Sprintf("-n %s addr add %s/24 dev v0", ns, g.addr[Veth][cell.IPv4][i]),
			fmt.Sprintf("-n %s addr add %s/64 dev v0 nodad", ns, g.addr[Veth][cell.IPv6][i]),
			fmt.Sprintf("-n %s link set v0 up", ns),
			fmt.Sprintf("-n %s addr add %s/128 dev lo nodad", g.netns[0], g.addr[Loopback][cell.IPv6][i]))
	}
	for _, c := range cmds {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(c)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", c, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// close removes the namespaces and their contents.
func (g *ground) close() {
	for _, ns := range g.netns {
		if ns != "" {
			// A namespace that was never made cannot be removed.
			_ = exec.Command("ip", "netns", "del", ns).Run()
		}
	}
}

// has reports whether pairs can run on the path with the address family.
func (g *ground) has(p Path, f cell.Family) bool { _, ok := g.addr[p.wire()][f]; return ok }

// wrap puts a command line of one end into its network namespace.
func (g *ground) wrap(p Path, end int, argv []string) []string {
	ns := g.netns[0]
	if p.wire() == Veth {
		ns = g.netns[end]
	}
	if ns == "" {
		return argv
	}
	return append([]string{"ip", "netns", "exec", ns}, argv...)
}
