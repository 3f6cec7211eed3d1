package rxelab

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// lane is one link within a machine: a pair of virtual Ethernet interfaces with rxe on one end, in the initial network namespace,
// and gorxe on the other, in a namespace of its own. Lanes do not see each other's traffic, so cells run on them side by side.
//
// Traffic to rxe is disturbed where it comes in, on an intermediate device (ifb), and traffic to gorxe where it leaves: a capture
// on rxe's interface shows what gorxe sent and what reached gorxe.
type lane struct {
	s     *vm.Session
	index int
	link
	netdev, peerdev, ifb  string // of rxe, of gorxe, the intermediate one
	netns                 string // of gorxe
	condition             Condition
	programsOf            map[string]*vm.Programs // by Debian release
	localMAC, neighborMAC string
}

func newLane(s *vm.Session, index int) *lane {
	n := strconv.Itoa(index)
	addr := func(host byte) map[Family]netip.Addr {
		v6 := netip.MustParseAddr("fd00:18::").As16()
		v6[7], v6[15] = byte(index), host
		return map[Family]netip.Addr{IPv4: netip.AddrFrom4([4]byte{198, 18, byte(index), host}), IPv6: netip.AddrFrom16(v6)}
	}
	return &lane{
		s: s, index: index, condition: Clean,
		netdev: "v" + n, peerdev: "g" + n, ifb: "d" + n, netns: "peer" + n,
		localMAC: fmt.Sprintf("02:00:00:00:%02x:01", index), neighborMAC: fmt.Sprintf("02:00:00:00:%02x:02", index),
		link: link{rxe: end{device: "rxe" + n, addr: addr(1)}, gorxe: end{device: "g" + n, addr: addr(2)}, dead: addr(3)},
	}
}

// setup makes the interfaces and the RDMA device, and finds the GID indexes of both ends. Neighbours are fixed: a lost ARP packet
// would cost a second and show nothing.
func (l *lane) setup(ctx context.Context, mtu int) error {
	outer := []string{
		fmt.Sprintf("link add %s mtu %d address %s type veth peer name %s mtu %d address %s netns %s",
			l.netdev, mtu, l.localMAC, l.peerdev, mtu, l.neighborMAC, l.netns),
		fmt.Sprintf("link add %s mtu %d type ifb", l.ifb, mtu),
		fmt.Sprintf("link set %s up", l.ifb),
	}
	outer = append(outer, addressing(l.netdev, l.rxe, l.gorxe, l.neighborMAC)...)
	inner := append(addressing(l.peerdev, l.gorxe, l.rxe, l.localMAC), "link set lo up")
	for _, a := range l.dead {
		inner = append(inner, fmt.Sprintf("neigh replace %s lladdr 02:00:00:00:%02x:03 dev %s nud permanent", a, l.index, l.peerdev))
	}
	if _, err := l.s.Run(ctx, "ip", "netns", "add", l.netns); err != nil {
		return err
	}
	if err := l.batch(ctx, outer, "ip"); err != nil {
		return err
	}
	if err := l.batch(ctx, inner, "ip", "-n", l.netns); err != nil {
		return err
	}
	if _, err := l.s.Run(ctx, "rdma", "link", "add", l.rxe.device, "type", "rxe", "netdev", l.netdev); err != nil {
		return err
	}
	var err error
	if l.rxe.gid, err = rxeGIDs(ctx, l.s, l.rxe); err != nil {
		return err
	}
	l.gorxe.gid, err = l.gorxeGIDs(ctx)
	return err
}

// keepOrder makes one processor receive all that comes over the link. Without it a sender that the kernel moves from one processor
// to another overtakes itself, which a service that nobody repairs does not survive.
func (l *lane) keepOrder(ctx context.Context) error {
	const file = "/sys/class/net/%s/queues/rx-0/rps_cpus"
	if err := l.s.Put(ctx, fmt.Sprintf(file, l.netdev), 0o644, strings.NewReader("1")); err != nil {
		return err
	}
	// ip shows the namespace's own devices in /sys.
	_, err := l.s.Run(ctx, "ip", "netns", "exec", l.netns, "sh", "-c", "echo 1 > "+fmt.Sprintf(file, l.peerdev))
	return err
}

func addressing(dev string, local, remote end, remoteMAC string) []string {
	var cmds []string
	for _, f := range []Family{IPv4, IPv6} {
		bits, flags := 24, ""
		if f == IPv6 {
			bits, flags = 64, " nodad"
		}
		cmds = append(cmds, fmt.Sprintf("addr add %s/%d dev %s%s", local.addr[f], bits, dev, flags))
	}
	cmds = append(cmds, fmt.Sprintf("link set %s up", dev))
	for _, f := range []Family{IPv4, IPv6} {
		cmds = append(cmds, fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", remote.addr[f], remoteMAC, dev))
	}
	return cmds
}

// batch runs many commands of ip or tc in one process.
func (l *lane) batch(ctx context.Context, lines []string, tool ...string) error {
	file := fmt.Sprintf("/run/rxelab/batch%d", l.index)
	text := strings.Join(lines, "\n") + "\n"
	if err := l.s.Put(ctx, file, 0o644, strings.NewReader(text)); err != nil {
		return err
	}
	if _, err := l.s.Run(ctx, append(tool, "-batch", file)...); err != nil {
		return fmt.Errorf("%w; the commands were:\n%s", err, text)
	}
	return nil
}
