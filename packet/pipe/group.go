package pipe

import (
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/packet"
)

// member is the Receiver of one Join: a link that is not in Net.links and gets only frames to the
// group.
type member struct{ link }

// Join makes the link a member of group on its network.
func (l *link) Join(group netip.Addr) (packet.Receiver, error) {
	group, err := packet.CheckGroup(l.addr, group)
	if err != nil {
		return nil, err
	}
	m := &member{link{net: l.net, addr: group, bare: group, mtu: l.mtu, hideHeader: l.hideHeader, limit: l.limit}}
	m.ready.L = &m.mu
	n := l.net
	n.mu.Lock()
	defer n.mu.Unlock()
	// deliverToGroup iterates over the slice without the lock, so replace the slice rather than
	// modify it.
	n.groups[group] = append(slices.Clip(n.groups[group]), m)
	return m, nil
}

func (m *member) Close() error {
	m.closeQueue()
	n := m.net
	n.mu.Lock()
	defer n.mu.Unlock()
	left := slices.DeleteFunc(slices.Clone(n.groups[m.bare]), func(o *member) bool { return o == m })
	if n.groups[m.bare] = left; len(left) == 0 {
		delete(n.groups, m.bare)
	}
	return nil
}

// deliverToGroup delivers f to every member of the group that f is sent to. It reports whether any
// member has an MTU large enough for f.
func (n *Net) deliverToGroup(f *packet.Frame, src netip.Addr) bool {
	n.mu.Lock()
	members := n.groups[f.Path.Dst.WithZone("")]
	n.mu.Unlock()
	size := f.Len()
	took := false
	for _, m := range members {
		if size+packet.HeaderLen(m.addr) <= m.mtu {
			m.deliver(f, src)
			took = true
		}
	}
	return took
}
