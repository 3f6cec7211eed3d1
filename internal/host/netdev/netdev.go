// Package netdev follows a network interface and its addresses, which may appear, disappear and
// change while a program runs. A [Watcher] signals that something may have changed, and
// [Watcher.Look] returns the [State]. [WatchCarrier] reports only whether an interface is up. The
// package needs Linux.
package netdev

import (
	"errors"
	"net/netip"
)

// State is the state of a network interface, or of one address, at one time.
type State struct {
	Name  string // interface name; "" if there is none
	Index int    // interface index; 0 if there is none
	// Generation changes when the interface is deleted and created again. A socket that was bound
	// to the earlier interface is not bound to the new one.
	Generation uint64
	MTU        int    // in bytes
	SetUp      bool   // administratively up (IFF_UP)
	Carrier    bool   // up and has a carrier (IFF_LOWER_UP)
	Addrs      []Addr // in the order in which Linux lists them as GIDs: IPv6 link-local, IPv4, other IPv6
}

// Addr is an address of an interface.
type Addr struct {
	Addr     netip.Addr // with a zone if link-local
	Unusable error      // why new connections should not use the address; nil if they may
}

// Reasons not to use an address. [ErrTentative] and [ErrDeprecated] do not apply to an address
// that is already in use.
var (
	ErrTentative  = errors.New("its duplicate address detection has not finished")
	ErrDuplicate  = errors.New("another host has the same address")
	ErrDeprecated = errors.New("it is deprecated: its preferred lifetime is over")
)

// gidRank returns the rank of an address in the order of a GID table.
func gidRank(a netip.Addr) int {
	switch {
	case a.Is6() && a.IsLinkLocalUnicast():
		return 0
	case a.Is4():
		return 1
	}
	return 2
}
