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

// The network of a measurement as root: a bridge in a namespace of its own, and a cable to each
// host.
const (
	cableMTU  = 9000
	cableName = "veth0"
	cableBits = 24
)

// plug makes the bridge and the cables to the processes with the given IDs, which have a namespace
// each. They go with the processes.
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

// Attachment is how a host is on the network.
type Attachment struct {
	Addrs  []netip.Addr
	Router netip.Addr // leads to remoteNetwork; none where no packet goes there
}

// network gives this process's end of a cable its addresses.
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

// Wire is what has passed a host's end of its cable, in packets and in bytes of Ethernet frames.
type Wire struct {
	InPackets, InBytes, OutPackets, OutBytes uint64
}

// traffic reads it; all zeros where there is no cable.
func (p *process) traffic(json.RawMessage) (any, error) {
	link, err := netlink.LinkByName(cableName)
	if err != nil {
		return Wire{}, nil
	}
	s := link.Attrs().Statistics
	return Wire{s.RxPackets, s.RxBytes, s.TxPackets, s.TxBytes}, nil
}
