package machine

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// Lane is one link in a machine: a veth pair with rxe on one end, in the initial network
// namespace, and gorxe on the other, in a separate namespace. Lanes do not see each other's
// traffic, so cells run on them concurrently.
//
// Traffic to rxe is disturbed at ingress, on an intermediate device (ifb), and traffic to gorxe
// at egress. So a capture on rxe's interface shows what gorxe sent and what reached gorxe.
type Lane struct {
	Session *vm.Session
	Index   int
	cell.Link
	netdev, peerdev, ifb  string // interfaces of rxe and of gorxe, intermediate device
	Netns                 string // network namespace of gorxe
	condition             cell.Condition
	ProgramsOf            map[string]*vm.Programs // by Debian release
	localMAC, neighborMAC string
}

func newLane(s *vm.Session, index int) *Lane {
	n := strconv.Itoa(index)
	addr := func(host byte) map[cell.Family]netip.Addr {
		v6 := netip.MustParseAddr("fd00:18::").As16()
		v6[7], v6[15] = byte(index), host
		return map[cell.Family]netip.Addr{cell.IPv4: netip.AddrFrom4([4]byte{198, 18, byte(index), host}),
			cell.IPv6: netip.AddrFrom16(v6)}
	}
	return &Lane{
		Session: s, Index: index, condition: cell.Clean,
		netdev: "v" + n, peerdev: "g" + n, ifb: "d" + n, Netns: "peer" + n,
		localMAC: fmt.Sprintf("02:00:00:00:%02x:01", index), neighborMAC: fmt.Sprintf("02:00:00:00:%02x:02", index),
		Link: cell.Link{Rxe: cell.End{Device: "rxe" + n, Addr: addr(1)},
			Gorxe: cell.End{Device: "g" + n, Addr: addr(2)}, Dead: addr(3)},
	}
}

// setup makes the interfaces and the RDMA device, and finds the GID indexes of both ends.
// Neighbour entries are static: a lost ARP packet would cost a second without testing anything.
func (l *Lane) setup(ctx context.Context, mtu int) error {
	outer := []string{
		fmt.Sprintf("link add %s mtu %d address %s type veth peer name %s mtu %d address %s netns %s",
			l.netdev, mtu, l.localMAC, l.peerdev, mtu, l.neighborMAC, l.Netns),
		fmt.Sprintf("link add %s mtu %d type ifb", l.ifb, mtu),
		fmt.Sprintf("link set %s up", l.ifb),
	}
	outer = append(outer, Addressing(l.netdev, l.Rxe, l.Gorxe, l.neighborMAC)...)
	inner := append(Addressing(l.peerdev, l.Gorxe, l.Rxe, l.localMAC), "link set lo up")
	for _, a := range l.Dead {
		inner = append(inner, fmt.Sprintf("neigh replace %s lladdr 02:00:00:00:%02x:03 dev %s nud permanent", a,
			l.Index, l.peerdev))
	}
	if _, err := l.Session.Run(ctx, "ip", "netns", "add", l.Netns); err != nil {
		return err
	}
	if err := l.batch(ctx, outer, "ip"); err != nil {
		return err
	}
	if err := l.batch(ctx, inner, "ip", "-n", l.Netns); err != nil {
		return err
	}
	if _, err := l.Session.Run(ctx, "rdma", "link", "add", l.Rxe.Device, "type", "rxe", "netdev",
		l.netdev); err != nil {
		return err
	}
	var err error
	if l.Rxe.GID, err = GIDs(ctx, l.Session, l.Rxe); err != nil {
		return err
	}
	l.Gorxe.GID, err = l.gorxeGIDs(ctx)
	return err
}

// keepOrder makes one processor receive all packets of the link. Without it, a sender that the
// kernel migrates between processors may reorder its packets, which breaks a service without
// retransmission.
func (l *Lane) keepOrder(ctx context.Context) error {
	const file = "/sys/class/net/%s/queues/rx-0/rps_cpus"
	if err := l.Session.Put(ctx, fmt.Sprintf(file, l.netdev), 0o644, strings.NewReader("1")); err != nil {
		return err
	}
	// ip netns exec mounts the /sys of the namespace.
	_, err := l.Session.Run(ctx, "ip", "netns", "exec", l.Netns, "sh", "-c", "echo 1 > "+fmt.Sprintf(file, l.peerdev))
	return err
}

// Addressing returns commands of ip that set the addresses of an interface and its neighbour
// entries for the other end.
func Addressing(dev string, local, remote cell.End, remoteMAC string) []string {
	var cmds []string
	for _, f := range []cell.Family{cell.IPv4, cell.IPv6} {
		bits, flags := 24, ""
		if f == cell.IPv6 {
			bits, flags = 64, " nodad"
		}
		cmds = append(cmds, fmt.Sprintf("addr add %s/%d dev %s%s", local.Addr[f], bits, dev, flags))
	}
	cmds = append(cmds, fmt.Sprintf("link set %s up", dev))
	for _, f := range []cell.Family{cell.IPv4, cell.IPv6} {
		cmds = append(cmds, fmt.Sprintf("neigh replace %s lladdr %s dev %s nud permanent", remote.Addr[f],
			remoteMAC, dev))
	}
	return cmds
}

// batch runs many commands of ip or tc in one process.
func (l *Lane) batch(ctx context.Context, lines []string, tool ...string) error {
	file := fmt.Sprintf("/run/rxelab/batch%d", l.Index)
	text := strings.Join(lines, "\n") + "\n"
	if err := l.Session.Put(ctx, file, 0o644, strings.NewReader(text)); err != nil {
		return err
	}
	if _, err := l.Session.Run(ctx, append(tool, "-batch", file)...); err != nil {
		return fmt.Errorf("%w; the commands were:\n%s", err, text)
	}
	return nil
}
