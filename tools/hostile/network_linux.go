package hostile

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
)

// As root, the network of a measurement is a bridge in a separate namespace, with a veth pair to
// each host.
const (
	cableMTU  = 9000
	cableName = "veth0"
	cableBits = 24
)

// plug makes the bridge and the veth pairs to the processes with the given PIDs, each of which
// has a network namespace. They vanish with the processes.
func (p *process) plug(data json.RawMessage) (any, error) {
	pids, err := decoded[[]int](data)
	if err != nil {
		return nil, err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "bridge0", MTU: cableMTU}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return nil, fmt.Errorf("making a bridge: %w", err)
	}
	for i, pid := range pids {
		attrs := netlink.LinkAttrs{Name: fmt.Sprintf("port%d", i), MTU: cableMTU}
		cable := &netlink.Veth{LinkAttrs: attrs, PeerName: cableName, PeerNamespace: netlink.NsPid(pid)}
		if err := netlink.LinkAdd(cable); err != nil {
			return nil, fmt.Errorf("making a cable: %w", err)
		}
		port, err := netlink.LinkByName(attrs.Name)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(netlink.LinkSetMaster(port, bridge), netlink.LinkSetUp(port)); err != nil {
			return nil, err
		}
	}
	return nil, netlink.LinkSetUp(bridge)
}

// Attachment is the network configuration of a host.
type Attachment struct {
	Addrs  []netip.Addr
	Router netip.Addr // router to remoteNetwork; invalid: no route
}

// network configures this process's end of its veth pair.
func (p *process) network(data json.RawMessage) (any, error) {
	at, err := decoded[Attachment](data)
	if err != nil {
		return nil, err
	}
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return nil, err
	}
	link, err := netlink.LinkByName(cableName)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(netlink.LinkSetUp(lo), netlink.LinkSetMTU(link, cableMTU)); err != nil {
		return nil, err
	}
	for _, a := range at.Addrs {
		addr, err := netlink.ParseAddr(netip.PrefixFrom(a, cableBits).String())
		if err != nil {
			return nil, err
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return nil, err
		}
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, err
	}
	for range 5000 {
		if link, err = netlink.LinkByName(cableName); err != nil {
			return nil, err
		}
		if link.Attrs().OperState == netlink.OperUp {
			return nil, at.route(link)
		}
		time.Sleep(time.Millisecond)
	}
	return nil, errors.New("the cable does not come up")
}

// route adds the route to remoteNetwork, if there is a router.
func (a *Attachment) route(link netlink.Link) error {
	if !a.Router.IsValid() {
		return nil
	}
	dst := net.IPNet{IP: remoteNetwork.Addr().AsSlice(), Mask: net.CIDRMask(remoteNetwork.Bits(), 32)}
	return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: &dst, Gw: a.Router.AsSlice()})
}

// Wire counts the traffic of a host's end of its veth pair, in packets and in bytes of Ethernet
// frames.
type Wire struct {
	InPackets, InBytes, OutPackets, OutBytes uint64
}

// traffic returns the Wire of this process; all zeros without a veth pair.
func (p *process) traffic(json.RawMessage) (any, error) {
	link, err := netlink.LinkByName(cableName)
	if err != nil {
		return Wire{}, nil
	}
	s := link.Attrs().Statistics
	return Wire{s.RxPackets, s.RxBytes, s.TxPackets, s.TxBytes}, nil
}
