package netdev

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// maxLooks is the maximum number of attempts of a query if concurrent changes interrupt each
// attempt.
const maxLooks = 10

// Look returns the current state of the interface or address. The calling thread must be in the
// network namespace that is watched.
func (w *Watcher) Look() (State, error) {
	w.looking.Store(true)
	defer w.looking.Store(false)
	life := w.deletions.Load()
	var st State
	var err error
	for range maxLooks {
		if st, err = w.look(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	if err != nil {
		return State{}, fmt.Errorf("looking at the addresses of the host: %w", err)
	}
	st.Generation = life
	w.index.Store(int64(st.Index))
	return st, nil
}

func (w *Watcher) look() (State, error) {
	if w.name == "" {
		return w.lookForAddr()
	}
	link, err := netlink.LinkByName(w.name)
	if absent(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	list, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return State{}, err
	}
	st := stateOf(link)
	for i := range list {
		st.add(&list[i])
	}
	slices.SortStableFunc(st.Addrs, func(a, b Addr) int { return cmp.Compare(gidRank(a.Addr), gidRank(b.Addr)) })
	return st, nil
}

// lookForAddr finds the interface that has the address.
func (w *Watcher) lookForAddr() (State, error) {
	list, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return State{}, err
	}
	for i := range list {
		a := &list[i]
		prefix, ok := prefixOf(a)
		if !ok || prefix.Addr() != w.addr.WithZone("") && !prefix.Contains(w.addr.WithZone("")) {
			continue
		}
		link, err := netlink.LinkByIndex(a.LinkIndex)
		if absent(err) {
			continue
		}
		if err != nil {
			return State{}, err
		}
		st := stateOf(link)
		switch zone := w.addr.Zone(); {
		case zone != "" && zone != st.Name:
		case prefix.Addr() == w.addr.WithZone(""):
			st.add(a)
			return st, nil
		case link.Attrs().RawFlags&unix.IFF_LOOPBACK != 0 && w.addr.Is4():
			// Every address of a loopback IPv4 prefix is local.
			st.Addrs = []Addr{{Addr: w.addr}}
			return st, nil
		}
	}
	return State{}, nil
}

// absent reports whether err means that an interface does not exist.
func absent(err error) bool {
	_, ok := errors.AsType[netlink.LinkNotFoundError](err)
	return ok || errors.Is(err, unix.ENODEV)
}

func stateOf(link netlink.Link) State {
	const carrier = unix.IFF_UP | unix.IFF_LOWER_UP
	a := link.Attrs()
	return State{
		Name: a.Name, Index: a.Index, MTU: a.MTU,
		SetUp: a.RawFlags&unix.IFF_UP != 0, Carrier: a.RawFlags&carrier == carrier,
	}
}

// prefixOf returns an address of the host, without zone, with its prefix length.
func prefixOf(a *netlink.Addr) (netip.Prefix, bool) {
	if a.IPNet == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(a.IP)
	ones, _ := a.Mask.Size()
	return netip.PrefixFrom(addr, ones), ok
}

// add adds an address to Addrs unless it is already there: the kernel lists an address with two
// peers twice.
func (s *State) add(a *netlink.Addr) {
	prefix, ok := prefixOf(a)
	if !ok {
		return
	}
	addr := prefix.Addr()
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		addr = addr.WithZone(s.Name)
	}
	if !slices.ContainsFunc(s.Addrs, func(o Addr) bool { return o.Addr == addr }) {
		s.Addrs = append(s.Addrs, Addr{Addr: addr, Unusable: flawOf(a.Flags)})
	}
}

// flawOf returns why an address with these flags (IFA_F_DADFAILED and others) should not be used,
// or nil. An IPv6 address is usable once duplicate address detection has finished. A deprecated
// address is for existing connections only (RFC 4862, 5.5.4).
func flawOf(flags int) error {
	switch {
	case flags&unix.IFA_F_DADFAILED != 0:
		return ErrDuplicate
	case flags&unix.IFA_F_TENTATIVE != 0 && flags&unix.IFA_F_OPTIMISTIC == 0:
		return ErrTentative
	case flags&unix.IFA_F_DEPRECATED != 0:
		return ErrDeprecated
	}
	return nil
}
