package route

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// known are the states in which the link-layer address of a neighbour entry is used, even if it is
// not confirmed, as Linux' rdma_cm does.
const known = netlink.NUD_PERMANENT | netlink.NUD_NOARP | netlink.NUD_REACHABLE |
	netlink.NUD_PROBE | netlink.NUD_STALE | netlink.NUD_DELAY

// neighbour returns the link-layer address of r's next hop.
func (h *host) neighbour(ctx context.Context, r *Route) (net.HardwareAddr, error) {
	n, err := h.entry(r)
	if err != nil || n.State&known != 0 {
		return slices.Clone(n.HardwareAddr), err
	}
	mac, err := h.awaitNeighbour(ctx, r)
	return slices.Clone(mac), err // cloned because it is part of a large buffer
}

// entry returns the kernel's neighbour entry for r's next hop. Its state is 0 if there is none.
func (h *host) entry(r *Route) (netlink.Neigh, error) {
	hop := r.NextHop().WithZone("")
	msg := &netlink.Ndmsg{Family: unix.AF_INET, Index: uint32(r.Index)}
	if hop.Is6() {
		msg.Family = unix.AF_INET6
	}
	m, err := h.ask(unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, msg, nl.NewRtAttr(netlink.NDA_DST, hop.AsSlice()))
	if errors.Is(err, unix.ENOENT) {
		return netlink.Neigh{}, nil
	}
	if err != nil {
		return netlink.Neigh{}, fmt.Errorf("asking for the neighbour %v on %s: %w", hop, r.Interface, err)
	}
	n, err := netlink.NeighDeserialize(m)
	if err != nil {
		return netlink.Neigh{}, fmt.Errorf("the kernel's entry for the neighbour %v on %s: %w", hop, r.Interface, err)
	}
	return *n, nil
}

// awaitNeighbour makes the kernel resolve r's next hop, waits for the result and returns the
// link-layer address.
func (h *host) awaitNeighbour(ctx context.Context, r *Route) (net.HardwareAddr, error) {
	told, err := subscribe(r.NextHop().WithZone(""))
	if err != nil {
		return nil, err
	}
	defer told.close()
	defer context.AfterFunc(ctx, told.close)()
	fail := func(asked bool, err error) error {
		return &NeighbourError{Addr: r.NextHop(), Interface: r.Interface, Err: err, solicited: asked}
	}
	for {
		l, err := h.link("", r.Index)
		switch {
		case err != nil:
			return nil, fail(false, err)
		case !l.up:
			return nil, fail(false, fmt.Errorf("it is down: %w", syscall.ENETDOWN))
		case !l.carrier:
			return nil, fail(false, fmt.Errorf("it has no carrier: %w", syscall.ENETDOWN))
		}
		// The subscription precedes the query, so that no change in between is missed.
		n, err := h.entry(r)
		if err != nil || n.State&known != 0 {
			return n.HardwareAddr, err
		}
		if err := h.provoke(r); err != nil {
			return nil, fail(false, err)
		}
		n, err = h.decision(told, r)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, fail(true, ctx.Err())
		case err != nil:
			return nil, fmt.Errorf("waiting for the neighbour %v on %s: %w", r.NextHop(), r.Interface, err)
		case n.State&known != 0:
			return n.HardwareAddr, nil
		case n.State&netlink.NUD_FAILED != 0:
			return nil, fail(true, syscall.EHOSTUNREACH)
		}
		// The entry was deleted, as happens when the interface loses its carrier, or changes were
		// lost: start over.
	}
}

// decision waits until the neighbour entry of r's next hop is in a known state, failed or deleted,
// and returns the entry. The state of a deleted entry is 0.
func (h *host) decision(told *changes, r *Route) (netlink.Neigh, error) {
	hop := r.NextHop().WithZone("")
	for {
		messages, err := told.receive()
		if errors.Is(err, unix.ENOBUFS) {
			// Changes were lost: query the state.
			n, err := h.entry(r)
			if err != nil || n.State&netlink.NUD_INCOMPLETE == 0 {
				return n, err
			}
			continue
		}
		if err != nil {
			return netlink.Neigh{}, err
		}
		for _, m := range messages {
			if n, ok := entryOf(m, hop, r.Index); ok {
				return n, nil
			}
		}
	}
}

// entryOf parses a message. It returns the entry and true if the entry is for the given neighbour
// and is in a known state, failed or deleted (state 0).
func entryOf(m syscall.NetlinkMessage, hop netip.Addr, index int) (netlink.Neigh, bool) {
	typ := m.Header.Type
	if typ != unix.RTM_NEWNEIGH && typ != unix.RTM_DELNEIGH || len(m.Data) < unix.SizeofNdMsg {
		return netlink.Neigh{}, false
	}
	n, err := netlink.NeighDeserialize(m.Data)
	if err != nil || n.LinkIndex != index {
		return netlink.Neigh{}, false
	}
	if a, ok := netip.AddrFromSlice(n.IP); !ok || a != hop {
		return netlink.Neigh{}, false
	}
	if typ == unix.RTM_DELNEIGH {
		return netlink.Neigh{}, true
	}
	return *n, n.State&(known|netlink.NUD_FAILED) != 0
}
