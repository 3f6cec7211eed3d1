package packet

import (
	"errors"
	"fmt"
	"net/netip"
)

// Receiver receives frames. Every Link is a Receiver.
type Receiver interface {
	// Recv works like Recv of [Link].
	Recv(rb *RecvBatch) error
	// Close closes the receiver and wakes all goroutines waiting in Recv. Closing again does
	// nothing.
	Close() error
}

// Joiner is a link that can join multicast groups. Every link can send to a group. Receiving
// from a group requires membership and a Receiver of its own: the link does not receive frames
// sent to the group.
type Joiner interface {
	// Join makes the network device of the link a member of group. From then on the Receiver
	// receives the frames sent to group, also by this host, with group as Dst. Membership lasts
	// until the Receiver is closed, even if the link is closed earlier. If a group is joined
	// several times, on the same or different links, each Receiver gets a copy of each frame.
	Join(group netip.Addr) (Receiver, error)
}

// ErrNoMulticast is the error for a link that cannot join multicast groups.
var ErrNoMulticast = errors.New("the link cannot join multicast groups")

// Join joins group on l. The error is [ErrNoMulticast] if l is not a [Joiner].
func Join(l Link, group netip.Addr) (Receiver, error) {
	j, ok := l.(Joiner)
	if !ok {
		return nil, fmt.Errorf("packet: %s %v: %w", l.Caps().Name, l.Local(), ErrNoMulticast)
	}
	return j.Join(group)
}

// CheckGroup returns group without zone, or an error if a link at local cannot join it.
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
