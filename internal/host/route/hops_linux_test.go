package route

import (
	"encoding/binary"
	"errors"
	"maps"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// watchHops starts following routes from src in ns.
func watchHops(t testing.TB, ns netns.NsHandle, src string) (h *Hops) {
	t.Helper()
	testnet.In(t, ns, func() (err error) {
		h, err = WatchHops(netip.MustParseAddr(src))
		return err
	})
	t.Cleanup(h.Close)
	return h
}

// await queries the next hop until is accepts it.
func await(t *testing.T, h *Hops, dst, what string, is func(*Hop) bool) *Hop {
	t.Helper()
	a := netip.MustParseAddr(dst)
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		hop := h.To(a)
		if is(hop) {
			return hop
		}
		if time.Now().After(end) {
			t.Fatalf("the next hop of %s does not come to be %s: %+v", dst, what, hop)
		}
	}
}

func none(h *Hop) bool { return h == nil }
func some(h *Hop) bool { return h != nil }

// settle waits until the goroutine has resolved dst, with any result.
func settle(t *testing.T, h *Hops, dst string) {
	t.Helper()
	a := netip.MustParseAddr(dst)
	for end := time.Now().Add(time.Minute); ; runtime.Gosched() {
		h.To(a)
		h.mu.RLock()
		known := h.dsts[a] != nil
		h.mu.RUnlock()
		if known {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing becomes known of %s", dst)
		}
	}
}

// knock sends a datagram that makes the kernel of ns solicit dst.
func knock(t *testing.T, ns netns.NsHandle, dst string) {
	t.Helper()
	a := netip.MustParseAddr(dst)
	index := veth(t, ns).Attrs().Index
	testnet.In(t, ns, func() error { return sendEmpty(a.WithZone(""), netip.Addr{}, index) })
}

func TestHopsFollowANeighbour(t *testing.T) {
	hosts := newHosts(t)
	left, right := veth(t, hosts.Left).Attrs(), veth(t, hosts.Right).Attrs()
	for _, ends := range [][2]string{{left4, right4}, {left6, right6}, {leftLL + scope, rightLL + scope},
		{leftLL + scope, rightLL}} {
		h := watchHops(t, hosts.Left, ends[0])
		dst := ends[1]
		entry := netlink.Neigh{LinkIndex: left.Index, IP: netip.MustParseAddr(dst).WithZone("").AsSlice()}
		set := func(state int, mac net.HardwareAddr) {
			t.Helper()
			entry.State, entry.HardwareAddr = state, mac
			testnet.In(t, hosts.Left, func() error { return netlink.NeighSet(&entry) })
		}
		settle(t, h, dst)
		knock(t, hosts.Left, dst)
		hop := await(t, h, dst, "known", some)
		want := Hop{Index: left.Index, MTU: mtu, Src: [6]byte(left.HardwareAddr), Dst: [6]byte(right.HardwareAddr)}
		if *hop != want {
			t.Errorf("%s: %+v, want %+v", dst, *hop, want)
		}
		// As after a gratuitous ARP.
		other := net.HardwareAddr{2, 0, 0, 0, 46, 7}
		set(netlink.NUD_REACHABLE, other)
		await(t, h, dst, "another", func(h *Hop) bool { return h != nil && h.Dst == [6]byte(other) })
		set(netlink.NUD_FAILED, nil)
		await(t, h, dst, "none after nobody answered", none)
		set(netlink.NUD_REACHABLE, right.HardwareAddr)
		await(t, h, dst, "known again", some)
		testnet.In(t, hosts.Left, func() error { return netlink.NeighDel(&entry) })
		await(t, h, dst, "none after it was deleted", none)
	}
}

// Packets that only the user of the hops sends to a neighbour do not make the kernel probe it.
func TestAStaleNeighbourWantsOnePacketByASocket(t *testing.T) {
	hosts := newHosts(t)
	h := watchHops(t, hosts.Left, left4)
	a := netip.MustParseAddr(right4)
	entry := netlink.Neigh{
		LinkIndex: veth(t, hosts.Left).Attrs().Index, IP: a.AsSlice(),
		HardwareAddr: veth(t, hosts.Right).Attrs().HardwareAddr, State: netlink.NUD_REACHABLE,
	}
	testnet.In(t, hosts.Left, func() error { return netlink.NeighSet(&entry) })
	await(t, h, right4, "known", some)
	entry.State = netlink.NUD_STALE
	testnet.In(t, hosts.Left, func() error { return netlink.NeighSet(&entry) })
	await(t, h, right4, "none for one packet", none)
	for range 100 {
		if h.To(a) == nil {
			t.Fatal("more than one packet is to go by a socket")
		}
	}
}

func TestHopsFollowRoutesAndInterfaces(t *testing.T) {
	hosts := newHosts(t)
	const far = "203.0.113.7"
	left := veth(t, hosts.Left)
	h := watchHops(t, hosts.Left, left4)
	settle(t, h, far)
	if h.To(netip.MustParseAddr(far)) != nil {
		t.Error("there is a next hop without a route")
	}
	knock(t, hosts.Left, right4)
	addRoute(t, hosts.Left, "203.0.113.0/24",
		netlink.Route{LinkIndex: left.Attrs().Index, Gw: net.ParseIP(right4), MTU: 1400})
	hop := await(t, h, far, "the gateway", some)
	if hop.MTU != 1400 || hop.Dst != [6]byte(veth(t, hosts.Right).Attrs().HardwareAddr) {
		t.Errorf("%+v", *hop)
	}
	testnet.In(t, hosts.Left, func() error { return netlink.LinkSetMTU(left, 1300) })
	await(t, h, far, "of the MTU that its interface has", func(h *Hop) bool { return h != nil && h.MTU == 1300 })
	mac := net.HardwareAddr{2, 0, 0, 0, 46, 8}
	testnet.In(t, hosts.Left, func() error { return netlink.LinkSetHardwareAddr(left, mac) })
	knock(t, hosts.Left, right4) // the kernel has removed all neighbours
	await(t, h, far, "from the address that its interface has",
		func(h *Hop) bool { return h != nil && h.Src == [6]byte(mac) })
	testnet.In(t, hosts.Left, func() error { return netlink.LinkSetDown(left) })
	await(t, h, far, "none when the interface is down", none)
}

func TestWhatIsOnNoEthernetHasNoHop(t *testing.T) {
	hosts := newHosts(t)
	h := watchHops(t, hosts.Left, left4)
	for _, dst := range []string{left4, "127.0.0.1", "239.1.2.3", right6, "198.18.46.255"} {
		settle(t, h, dst)
		if hop := h.To(netip.MustParseAddr(dst)); hop != nil {
			t.Errorf("%s: %+v", dst, *hop)
		}
	}
}

func TestClosedHopsLeaveNothing(t *testing.T) {
	h, err := WatchHops(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	h.To(netip.MustParseAddr("127.0.0.2"))
	h.Close()
	h.Close()
	if h.To(netip.MustParseAddr("192.0.2.1")) != nil {
		t.Error("a next hop after Close")
	}
}

// oneNeighbour is a kernel with the same neighbour for all destinations.
type oneNeighbour struct {
	fakeKernel
	state int
}

func (oneNeighbour) link(string, int) (link, error) {
	return link{name: "one", index: 1, up: true, ethernet: true, neighbours: true, mtu: mtu, mtu6: mtu}, nil
}

func (oneNeighbour) lookup(q query) (answer, error) {
	return answer{index: 1, gateway: netip.MustParseAddr("192.0.2.1")}, nil
}

func (k oneNeighbour) entry(*Route) (netlink.Neigh, error) {
	if k.state == 0 {
		return netlink.Neigh{}, errors.New("no answer")
	}
	return netlink.Neigh{State: k.state, HardwareAddr: make(net.HardwareAddr, 6)}, nil
}

// numbered returns the i-th of many destinations.
func numbered(i int) netip.Addr {
	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(i)+1<<24)))
}

func TestHopsAreBoundedAndForgotten(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
	for i := range maxHops + 100 {
		h.add(numbered(i))
	}
	if len(h.dsts) != maxHops {
		t.Errorf("%d destinations are remembered, want %d", len(h.dsts), maxHops)
	}
	h.sweep() // all of them have been used since the previous one
	used := slices.Collect(maps.Keys(h.dsts))[:10]
	for _, dst := range used {
		if h.To(dst) == nil {
			t.Errorf("%v has no next hop", dst)
		}
	}
	h.sweep()
	if len(h.dsts) != fewHops {
		t.Errorf("%d destinations are remembered, of which 10 are used, want %d", len(h.dsts), fewHops)
	}
	if n := len(h.via[h.dsts[used[0]].neighbour]); n != fewHops || len(h.via) != 1 {
		t.Errorf("%d neighbours are remembered, one with %d destinations, want 1 with %d", len(h.via), n, fewHops)
	}
	for _, dst := range used {
		if h.dsts[dst] == nil {
			t.Errorf("%v was used and is forgotten", dst)
		}
	}
}

func TestADestinationThatIsExpectedIsAskedForBeforeAnythingIsSent(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
	h.ResolveSoon(numbered(1))
	select {
	case r := <-h.asked:
		h.add(r.dst)
	default:
		t.Fatal("nothing is asked for")
	}
	if missing, followed := h.Missing(numbered(1)); missing || !followed {
		t.Errorf("missing %t, followed %t", missing, followed)
	}
	for i := range 2 * cap(h.asked) { // Follow does not block
		h.ResolveSoon(numbered(2 + i))
	}
}

func TestADestinationThatIsForgottenIsNotFollowed(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
	for i := range 2 {
		h.add(numbered(i))
	}
	for _, i := range []int{0, 1, 1, 0} { // the last one was requested before it is removed
		if _, followed := h.Missing(numbered(i)); !followed {
			t.Errorf("%v is not followed", numbered(i))
		}
	}
	h.mu.Lock()
	h.forget(numbered(0))
	h.mu.Unlock()
	for i := range 2 {
		if _, followed := h.Missing(numbered(i)); followed != (i == 1) {
			t.Errorf("%v: followed %t", numbered(i), followed)
		}
	}
}

func TestADestinationThatIsHeldIsNotDisplaced(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
	const held = 100
	for i := range held {
		h.Hold(numbered(i))
	}
	h.hold()
	for i := range 2 * maxHops {
		h.add(numbered(held + i))
	}
	for i := range held {
		if h.dsts[numbered(i)] == nil {
			t.Errorf("%v is displaced", numbered(i))
		}
	}
	h.Hold(numbered(0))
	for i := range held {
		h.Release(numbered(i))
	}
	h.hold()
	h.sweep()
	h.sweep()
	if len(h.dsts) != fewHops || h.dsts[numbered(0)] == nil {
		t.Errorf("%d destinations to which nothing was sent are remembered, want %d with the one that is held",
			len(h.dsts), fewHops)
	}
	h.Release(numbered(0))
	h.Release(numbered(0))
	h.hold()
	if len(h.held) != 0 || len(h.holds) != 0 || h.dsts[numbered(0)].held.Load() {
		t.Errorf("%d destinations are held, %d are to be, after each was released", len(h.held), len(h.holds))
	}
}

// gone is a kernel without routes.
type gone struct{ oneNeighbour }

func (gone) lookup(query) (answer, error) { return answer{}, errors.New("no route") }

func TestANeighbourThatNoDestinationHasAnyMoreIsForgotten(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
	for i := range 3 {
		h.add(numbered(i))
	}
	h.kernel = gone{}
	h.lookAll()
	if len(h.via) != 0 {
		t.Errorf("%d neighbours are remembered, want none", len(h.via))
	}
	h.kernel = oneNeighbour{state: netlink.NUD_REACHABLE}
	h.lookAll()
	for range 10 {
		h.evict()
	}
	if len(h.dsts) != 0 || len(h.via) != 0 {
		t.Errorf("%d destinations and %d neighbours are remembered after all were displaced, want none",
			len(h.dsts), len(h.via))
	}
}

func TestTheNewestDestinationIsFollowed(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
	for i := range 2 * maxHops {
		h.add(numbered(i))
	}
	if newest := numbered(2*maxHops - 1); len(h.dsts) != maxHops || h.dsts[newest] == nil {
		t.Errorf("%d destinations, want %d with the newest among them", len(h.dsts), maxHops)
	}
}

func TestDestinationsAreLookedUpAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
		h.over.Go(h.run)
		defer h.Close()
		follow := func(from int) int {
			for i := range 5000 {
				h.To(numbered(from + i))
				synctest.Wait()
			}
			h.mu.RLock()
			defer h.mu.RUnlock()
			return len(h.dsts)
		}
		if n := follow(0); n != newDestinations.Burst {
			t.Errorf("%d of 5,000 destinations are followed, want %d", n, newDestinations.Burst)
		}
		time.Sleep(time.Second)
		if n, want := follow(5000), newDestinations.Burst+500; n != want {
			t.Errorf("%d of 10,000 destinations are followed a second later, want %d", n, want)
		}
		h.Hold(numbered(20_000))
		synctest.Wait()
		if !h.Held(numbered(20_000)) {
			t.Error("one that is held waits for the others")
		}
	})
}

func TestANeighbourIsMissingUntilTheKernelKnowsIt(t *testing.T) {
	dst := netip.MustParseAddr("192.0.2.1")
	for _, c := range []struct {
		what  string
		state int
		want  bool
	}{
		{"none", 0, true}, {"incomplete", netlink.NUD_INCOMPLETE, true}, {"failed", netlink.NUD_FAILED, true},
		{"reachable", netlink.NUD_REACHABLE, false}, {"stale", netlink.NUD_STALE, false},
		{"probe", netlink.NUD_PROBE, false},
	} {
		h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: c.state})
		if _, followed := h.Missing(dst); followed {
			t.Errorf("%s: followed before it was asked for", c.what)
		}
		h.add((<-h.asked).dst)
		expect := func(when string, want bool) {
			t.Helper()
			if missing, followed := h.Missing(dst); missing != want || !followed {
				t.Errorf("%s, %s: missing %v, followed %v", c.what, when, missing, followed)
			}
		}
		expect("at first", c.want)
		h.applyState(neighbour{hopKey: h.dsts[dst].neighbour, state: netlink.NUD_FAILED})
		expect("after nobody answered", true)
		h.applyState(neighbour{hopKey: h.dsts[dst].neighbour, state: netlink.NUD_REACHABLE})
		expect("after it answered", false)
	}
}

func TestHopsWithoutAnAnswer(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{})
	dst := netip.MustParseAddr("192.0.2.3")
	h.add(dst)
	if h.To(dst) != nil {
		t.Error("a next hop that the kernel does not know")
	}
}

func TestAskingForAHopAllocatesNothing(t *testing.T) {
	h := newHops(netip.MustParseAddr("192.0.2.2"), oneNeighbour{state: netlink.NUD_REACHABLE})
	dst, unknown := netip.MustParseAddr("192.0.2.3"), netip.MustParseAddr("192.0.2.4")
	h.add(dst)
	if n := testing.AllocsPerRun(100, func() {
		if h.To(dst) == nil || h.To(unknown) != nil {
			t.Fatal("the wrong next hop")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
