package route

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const (
	// maxHops bounds the destinations that are remembered: peers can make a host answer to addresses of their choice.
	maxHops = 16384
	// fewHops is how many destinations are remembered although nothing is sent to them.
	fewHops = 1024
	// evictFrom is how many destinations are looked at to find one that a new one displaces.
	evictFrom = 32
	// provokeEvery is how often a packet makes the kernel ask for a neighbour that is missing: as
	// often as it asks itself (retrans_time_ms, see arp(7)).
	provokeEvery = time.Second
	// sweepEvery is how long a destination beyond fewHops is remembered that nothing is sent to, and how long a change
	// lasts that the kernel tells nobody of, such as a path MTU that it learned.
	sweepEvery = 30 * time.Second
	// lookPause is the least time between two looks at all destinations, and lookShare how many
	// times as long as a look took: the kernel gives up telling of neighbours one by one, and asks
	// for such a look, as often as floods have it ask for many.
	lookPause = 100 * time.Millisecond
	lookShare = 20
)

// newDestinations is how often one is looked up because something is sent to it: a look is several
// questions to the kernel, and senders forge addresses. What is sent to others goes by a socket.
var newDestinations = pace.Rate{Burst: 1000, Interval: 2 * time.Millisecond}

// Hops knows the next hops of the destinations that something is sent to from one address, and follows rtnetlink(7) as
// routes, interfaces and neighbours change.
//
// It never asks for a neighbour itself. Whoever is told no next hop sends by a socket: the kernel then keeps the packet while
// it asks for the neighbour, or refuses it with the reason, and what it finds out comes here.
type Hops struct {
	src netip.Addr

	mu   sync.RWMutex // guards the map, which only the goroutine changes
	dsts map[netip.Addr]*destination
	last atomic.Pointer[destination] // one of dsts, that of the packet before, or nil; mu is held to set it

	holding sync.Mutex
	holds   map[netip.Addr]int // how many more are to hold each than do, guarded by holding

	asked   chan request
	news    chan neighbour
	again   chan struct{} // everything may be different
	kick    chan struct{} // holds is not empty
	changes *changes
	stop    chan struct{}
	over    sync.WaitGroup
	closing sync.Once
	free    func()

	// Of the goroutine.
	kernel hopKernel
	adds   pace.Bucket
	held   map[netip.Addr]int                   // by how many each is held, none by 0
	via    map[hopKey]map[*destination]struct{} // the destinations of each neighbour, none empty
}

type hopKernel interface {
	kernel
	// entry is what the kernel knows of r's next hop; its state is 0 if that is nothing.
	entry(r *Route) (netlink.Neigh, error)
}

// request asks for a destination to be followed.
type request struct {
	dst  netip.Addr
	done chan<- struct{} // nil, or closed when it is followed
}

// WatchHops begins to follow the network namespace of the calling thread for packets from src, a local address.
// A link-local one has a zone.
func WatchHops(src netip.Addr) (*Hops, error) {
	c, err := subscribeTo(nil, 32<<10, unix.RTNLGRP_NEIGH, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE, unix.RTNLGRP_NEXTHOP)
	if err != nil {
		return nil, err
	}
	h, err := open()
	if err != nil {
		c.close()
		return nil, err
	}
	t := newHops(src, h)
	t.changes, t.free = c, h.close
	t.over.Go(t.listen)
	t.over.Go(t.run)
	return t, nil
}

func newHops(src netip.Addr, k hopKernel) *Hops {
	return &Hops{
		src: src, kernel: k, dsts: make(map[netip.Addr]*destination), free: func() {},
		via:   make(map[hopKey]map[*destination]struct{}),
		asked: make(chan request, 64), news: make(chan neighbour, 64), again: make(chan struct{}, 1), stop: make(chan struct{}),
		holds: make(map[netip.Addr]int), held: make(map[netip.Addr]int), kick: make(chan struct{}, 1),
	}
}

// Close ends the following, and returns when nothing of it is left.
func (t *Hops) Close() {
	t.closing.Do(func() {
		close(t.stop)
		if t.changes != nil {
			t.changes.close()
		}
		t.over.Wait()
		t.free()
	})
}

// To returns the next hop of dst, which is not to be changed. nil asks for this packet to be sent by a socket: the next hop is
// not known or not known yet, is none on an Ethernet (dst is this host, a group, behind a tunnel, unreachable), or
// wants to be confirmed. To does not wait and does not allocate, and may be called by many goroutines.
func (t *Hops) To(dst netip.Addr) *Hop {
	d := t.find(dst)
	if d == nil {
		return nil
	}
	if d.confirm.Load() && d.confirm.CompareAndSwap(true, false) {
		return nil
	}
	return d.hop.Load()
}

// Missing reports whether a packet to dst would wait in the host for the link-layer address of the
// next hop, and whether dst is followed, without which it reports nothing. It does not wait and
// does not allocate, and may be called by many goroutines.
func (t *Hops) Missing(dst netip.Addr) (missing, followed bool) {
	d := t.find(dst)
	return d != nil && d.missing.Load(), d != nil
}

// Expect begins to follow dst, unless too many others are asked for. It does not wait.
func (t *Hops) Expect(dst netip.Addr) { t.find(dst) }

// Await begins to follow dst and waits until it is followed, but not longer than limit.
func (t *Hops) Await(dst netip.Addr, limit time.Duration) {
	late := time.NewTimer(limit)
	defer late.Stop()
	done := make(chan struct{})
	select {
	case t.asked <- request{dst: dst, done: done}:
	case <-late.C:
		return
	}
	select {
	case <-done:
	case <-late.C:
	case <-t.stop:
	}
}

// Held reports whether dst is held. It does not wait and does not allocate.
func (t *Hops) Held(dst netip.Addr) bool {
	d := t.find(dst)
	return d != nil && d.held.Load()
}

// Due reports whether a packet to dst, which is missing, is to make the kernel ask for the
// neighbour again. It takes note of it.
func (t *Hops) Due(dst netip.Addr, now time.Time) bool {
	d := t.find(dst)
	if d == nil {
		return false
	}
	last := d.asked.Load()
	return now.UnixNano()-last >= int64(provokeEvery) && d.asked.CompareAndSwap(last, now.UnixNano())
}

// Hold begins to follow dst, and keeps others from displacing it until Release is called as often.
// It does not wait.
func (t *Hops) Hold(dst netip.Addr) { t.addHolds(dst, 1) }

// Release takes back one Hold. It does not wait.
func (t *Hops) Release(dst netip.Addr) { t.addHolds(dst, -1) }

func (t *Hops) addHolds(dst netip.Addr, n int) {
	t.holding.Lock()
	defer t.holding.Unlock()
	if t.holds[dst] += n; t.holds[dst] == 0 {
		delete(t.holds, dst)
	}
	select {
	case t.kick <- struct{}{}:
	default:
	}
}

// hold does what Hold and Release ask for. Where all the room is held, dst is followed as soon as
// there is some and something is sent to it.
func (t *Hops) hold() {
	t.holding.Lock()
	changed := t.holds
	t.holds = make(map[netip.Addr]int)
	t.holding.Unlock()
	for dst, n := range changed {
		if n += t.held[dst]; n > 0 {
			t.held[dst] = n
			t.add(dst)
		} else {
			delete(t.held, dst)
		}
		if d := t.dsts[dst]; d != nil {
			d.held.Store(n > 0)
		}
	}
}

// find returns what is known of dst. When that is nothing, it asks for it.
func (t *Hops) find(dst netip.Addr) *destination {
	d := t.last.Load()
	if d == nil || d.addr != dst {
		t.mu.RLock()
		if d = t.dsts[dst]; d != nil {
			t.last.Store(d)
		}
		t.mu.RUnlock()
	}
	switch {
	case d == nil:
		select {
		case t.asked <- request{dst: dst}:
		default: // the next packet asks again
		}
	case !d.used.Load():
		d.used.Store(true)
	}
	return d
}

// run alone changes what is known.
func (t *Hops) run() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	again := t.again
	var pause <-chan time.Time
	for {
		select {
		case <-t.stop:
			return
		case r := <-t.asked:
			// Await has a rate of its own.
			if r.done != nil || t.adds.TakeIfThere(newDestinations, time.Now()) {
				t.add(r.dst)
			}
			if r.done != nil {
				close(r.done)
			}
		case <-t.kick:
			t.hold()
		case n := <-t.news:
			t.hear(n)
		case <-again:
			began := time.Now()
			t.lookAll()
			again, pause = nil, time.After(max(lookPause, lookShare*time.Since(began)))
		case <-pause:
			again, pause = t.again, nil
		case <-tick.C:
			t.sweep()
		}
	}
}

// add begins to follow a destination.
func (t *Hops) add(dst netip.Addr) {
	if t.dsts[dst] != nil || len(t.dsts) >= maxHops && !t.evict() {
		return
	}
	d := &destination{addr: dst}
	d.used.Store(true)
	d.held.Store(t.held[dst] > 0)
	t.look(dst, d)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dsts[dst] = d
}

// evict forgets a destination that is not held, one without a neighbour if it meets one, and
// reports whether it did. Go's maps begin at a random element.
func (t *Hops) evict() bool {
	var victim netip.Addr
	n := 0
	for dst, d := range t.dsts {
		if n++; n > evictFrom {
			break
		}
		if d.held.Load() {
			continue
		}
		victim = dst
		if d.missing.Load() || !d.used.Load() {
			break
		}
	}
	if !victim.IsValid() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(victim)
	return true
}

// forget ends the following of dst. The caller holds mu.
func (t *Hops) forget(dst netip.Addr) {
	d := t.dsts[dst]
	t.lead(d, hopKey{})
	delete(t.dsts, dst)
	t.last.CompareAndSwap(d, nil)
}

// sweep forgets what is not used, but for a few, and looks at the rest again.
func (t *Hops) sweep() {
	t.mu.Lock()
	for dst, d := range t.dsts {
		if !d.used.Swap(false) && !d.held.Load() && len(t.dsts) > fewHops {
			t.forget(dst)
		}
	}
	t.mu.Unlock()
	t.lookAll()
}

func (t *Hops) lookAll() {
	for dst, d := range t.dsts {
		t.look(dst, d)
	}
}
