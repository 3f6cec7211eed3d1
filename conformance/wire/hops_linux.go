package wire

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// hop is the neighbour that gets the frames for a destination.
type hop struct {
	index    int              // of the interface
	mac, own net.HardwareAddr // mac is nil if the interface has no Ethernet addresses; zero on loopback for RoCEv1
	until    time.Time
}

// hops finds and caches the neighbours of destinations. It queries the network namespace in which
// it was made.
type hops struct {
	kernel *netlink.Handle
	probe  *net.UDPConn // its packets make the kernel resolve a neighbour
	cache  map[netip.Addr]hop
}

const (
	hopAge      = 5 * time.Second // after which a neighbour is looked up again
	resolveTime = 2 * time.Second // maximum time to resolve a neighbour
	resolvePoll = 5 * time.Millisecond
	maxHops     = 256
	discard     = 9 // UDP port of packets that resolve a neighbour

	// usable are the states of a neighbour whose Ethernet address is known.
	usable = unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE | unix.NUD_PERMANENT |
		unix.NUD_NOARP
)

func newHops(probe *net.UDPConn) (*hops, error) {
	k, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	return &hops{kernel: k, probe: probe, cache: map[netip.Addr]hop{}}, nil
}

func (h *hops) close() { h.kernel.Close() }

// to returns the neighbour that gets the frames to dst.
func (h *hops) to(dst netip.Addr) (hop, error) {
	if x, ok := h.cache[dst]; ok && time.Now().Before(x.until) {
		return x, nil
	}
	x, err := h.find(dst)
	if err != nil {
		return x, fmt.Errorf("no way to %v: %w", dst, err)
	}
	if len(h.cache) >= maxHops {
		clear(h.cache)
	}
	x.until = time.Now().Add(hopAge)
	h.cache[dst] = x
	return x, nil
}

func (h *hops) find(dst netip.Addr) (hop, error) {
	routes, err := h.kernel.RouteGet(dst.AsSlice())
	if err != nil || len(routes) == 0 {
		return hop{}, errors.Join(errors.New("the kernel has no route"), err)
	}
	r := routes[0]
	link, err := h.kernel.LinkByIndex(r.LinkIndex)
	if err != nil {
		return hop{}, err
	}
	x := hop{index: r.LinkIndex, own: link.Attrs().HardwareAddr}
	if link.Attrs().Flags&net.FlagLoopback != 0 || len(x.own) != 6 {
		x.own = make(net.HardwareAddr, 6)
		return x, nil
	}
	next := net.IP(dst.AsSlice())
	if r.Gw != nil {
		next = r.Gw
	}
	x.mac, err = h.resolve(dst, next, r.LinkIndex)
	return x, err
}

// resolve returns the Ethernet address of the neighbour next on the way to dst.
func (h *hops) resolve(dst netip.Addr, next net.IP, index int) (net.HardwareAddr, error) {
	family := unix.AF_INET6
	if next.To4() != nil {
		family = unix.AF_INET
	}
	for end := time.Now().Add(resolveTime); ; time.Sleep(resolvePoll) {
		all, err := h.kernel.NeighList(index, family)
		if err != nil {
			return nil, err
		}
		asked := false
		for _, n := range all {
			if !n.IP.Equal(next) {
				continue
			}
			asked = n.State&(unix.NUD_INCOMPLETE|unix.NUD_PROBE) != 0
			if n.State&usable != 0 && len(n.HardwareAddr) == 6 {
				return n.HardwareAddr, nil
			}
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the neighbour %v does not answer within %v", next, resolveTime)
		}
		if !asked {
			h.probe.WriteToUDPAddrPort(nil, netip.AddrPortFrom(dst, discard))
		}
	}
}
