// Package netdev tells what becomes of a network interface and its addresses: they come, go
// and change while a program runs. It needs Linux.
package netdev

import (
	"errors"
	"net/netip"
)

// State is what the host has of a network interface, or of one address, at one time.
type State struct {
	Name  string // of the interface; "" while there is none
	Index int    // likewise 0
	// Life is another one when the interface was deleted and made again in between: what was
	// bound to it is not bound to the one that is there.
	Life    uint64
	MTU     int    // in bytes
	SetUp   bool   // by the administrator
	Carrier bool   // set up, and it can send
	Addrs   []Addr // in the order in which Linux lists them as GIDs: IPv6 link-local, IPv4, other IPv6
}

// Addr is an address of an interface.
type Addr struct {
	Addr netip.Addr // with the zone of a link-local one
	Flaw error      // why nobody should begin to use it, nil for nothing
}

// Why an address is not to be used. One that was in use before stays in use while it is
// [ErrTentative] or [ErrDeprecated].
var (
	ErrTentative  = errors.New("its duplicate address detection has not finished")
	ErrDuplicate  = errors.New("another host has it, too")
	ErrDeprecated = errors.New("it is deprecated: its preferred lifetime is over")
)

// gidRank orders addresses as a GID table does.
func gidRank(a netip.Addr) int {
	switch {
	case a.Is6() && a.IsLinkLocalUnicast():
		return 0
	case a.Is4():
		return 1
	}
	return 2
}
