package linktest

import (
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

// Two multicast groups of each address family.
var (
	groups4 = [2]netip.Addr{netip.MustParseAddr("239.44.7.1"), netip.MustParseAddr("239.44.7.2")}
	groups6 = [2]netip.Addr{netip.MustParseAddr("ff0e::44:7:1"), netip.MustParseAddr("ff0e::44:7:2")}
)

func groupsOf(l packet.Link) [2]netip.Addr {
	if l.Local().Is4() {
		return groups4
	}
	return groups6
}

// members returns ends that receive, through the given links, the frames sent to a group. It
// sets a's path to that group.
func (s *suite) members(t *testing.T, a *end, links ...packet.Link) []*end {
	t.Helper()
	if _, ok := a.link.(packet.Joiner); !ok {
		t.Skip("the link cannot join groups")
	}
	group := groupsOf(a.link)[0]
	a.to.Dst = group
	var out []*end
	for _, l := range links {
		r, err := s.join(t, l, group)
		if err != nil {
			t.Fatalf("Join: %v", err)
		}
		t.Cleanup(func() {
			if err := r.Close(); err != nil {
				t.Errorf("Close of a member: %v", err)
			}
		})
		out = append(out, &end{t: t, link: l, from: r, in: packet.NewRecvBatch(64)})
	}
	return out
}

func (s *suite) group(t *testing.T) {
	a, b := s.ends(t)
	unicast, other := a.to, a.to
	other.Dst = groupsOf(a.link)[1]
	// Two members are on the other host, one is on the sender's host.
	members := s.members(t, a, b.link, b.link, a.link)
	a.to.TrafficClass, a.to.HopLimit = 0x2c, 3
	for _, path := range []*packet.Path{&other, &a.to, &a.to, &unicast, &a.to, &other, &unicast, &a.to} {
		a.put(path, 200, 2)
	}
	a.mustFlush()
	for i, m := range members {
		for _, n := range []uint32{1, 2, 4, 7} {
			m.got = n
			f := m.expect()
			if f.Src != a.link.Local().WithZone("") || f.Dst != a.to.Dst || f.TrafficClass != 0x2c || f.HopLimit != 3 {
				t.Errorf("member %d: frame %d came from %v to %v with class %#x, hop limit %d", i, n, f.Src, f.Dst,
					f.TrafficClass, f.HopLimit)
			}
		}
	}
	for _, n := range []uint32{3, 6} {
		b.got = n
		b.expect()
	}
}

func (s *suite) leave(t *testing.T) {
	a, b := s.ends(t)
	members := s.members(t, a, b.link, b.link)
	done := make(chan error)
	go func() { done <- members[0].from.Recv(packet.NewRecvBatch(1)) }()
	if err := members[0].from.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Recv: %v, want net.ErrClosed", err)
	}
	a.put(&a.to, 100, 1)
	a.mustFlush()
	members[1].expect()
	if err := members[0].from.Recv(packet.NewRecvBatch(1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Recv: %v, want net.ErrClosed", err)
	}
}

func (s *suite) noGroup(t *testing.T) {
	a, _ := s.ends(t)
	s.members(t, a)
	otherFamily := groups6[0]
	if a.link.Local().Is6() {
		otherFamily = groups4[0]
	}
	if _, err := s.join(t, a.link, otherFamily); !errors.Is(err, packet.ErrAddressFamily) {
		t.Errorf("Join(%v): %v, want ErrAddressFamily", otherFamily, err)
	}
	if r, err := s.join(t, a.link, a.link.Local()); err == nil {
		r.Close()
		t.Errorf("Join(%v) succeeds", a.link.Local())
	}
}

func (s *suite) announcedToGroup(t *testing.T) {
	a, b := s.ends(t)
	s.checkAnnounced(t, a, s.members(t, a, b.link)[0])
}

func (s *suite) groupAllocation(t *testing.T) {
	a, b := s.ends(t)
	m := s.members(t, a, b.link)[0]
	one := func() {
		for range 16 {
			a.put(&a.to, 1000, 1)
		}
		if err := a.flush(); err != nil {
			t.Fatal(err)
		}
		for range 16 {
			f, err := m.recv()
			if err == nil {
				err = check(f, m.got)
			}
			if err != nil {
				t.Fatal(err)
			}
			m.got++
		}
	}
	for range 50 {
		one()
	}
	if n := testing.AllocsPerRun(100, one); n != 0 {
		t.Errorf("%v allocations for 16 frames, want 0", n)
	}
}
