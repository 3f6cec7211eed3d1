package packet

import (
	"errors"
	"fmt"
	"net/netip"
)

// Receiver is where frames come from. A Link is one.
type Receiver interface {
	// Recv is as that of Link.
	Recv(rb *RecvBatch) error
	// Close ends the receiver and wakes everybody waiting in Recv. Closing again does nothing.
	Close() error
}

// Joiner is a link that can join multicast groups. Any link sends to a group; to receive what is sent to it takes
// membership, and a Receiver of its own: what comes to the group does not come to the link.
type Joiner interface {
	// Join makes the network device of the link a member of group. What is sent to group from then on, by this host as
	// well, comes to the Receiver, with group as its Dst, until the Receiver is closed. It does not end with the link.
	// Each Join, by whatever link, gets a copy of its own.
	Join(group netip.Addr) (Receiver, error)
}

// ErrNoMulticast is a link that cannot join multicast groups.
var ErrNoMulticast = errors.New("the link cannot join multicast groups")

// Join joins group with l; the error is [ErrNoMulticast] if l is not a [Joiner].
func Join(l Link, group netip.Addr) (Receiver, error) {
	j, ok := l.(Joiner)
	if !ok {
		return nil, fmt.Errorf("packet: %s %v: %w", l.Caps().Name, l.Local(), ErrNoMulticast)
	}
	return j.Join(group)
}

// CheckGroup says whether a link at local can join group, and returns it without zone.
func CheckGroup(local, group netip.Addr) (netip.Addr, error) {
	group = group.Unmap().WithZone("")
	switch {
	case !group.IsMulticast():
		return group, fmt.Errorf("packet: %v is not the address of a multicast group", group)
	case group.Is4() != local.Is4():
		return group, fmt.Errorf("packet: cannot join %v at %v: %w", group, local, ErrAddressFamily)
	}
	return group, nil
}
