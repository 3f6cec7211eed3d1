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
	// maxHops is the maximum number of cached destinations. It is needed because peers can make a
	// host answer to addresses of their choice.
	maxHops = 16384
	// fewHops is the number of destinations that are cached even if unused.
	fewHops = 1024
	// evictFrom is the number of destinations that evict examines.
	evictFrom = 32
	// provokeEvery is the minimum time between two packets that make the kernel solicit a missing
	// neighbour. The kernel repeats its solicitations at the same interval (retrans_time_ms, see
	// arp(7)).
	provokeEvery = time.Second
	// sweepEvery is the interval after which an unused destination beyond fewHops is removed, and
	// within which changes take effect that the kernel does not report, such as a learned path
	// MTU.
	sweepEvery = 30 * time.Second
	// lookPause is the minimum time between two queries of all destinations, and lookShare limits
	// their share of time: the pause lasts at least lookShare times as long as the query. A flood
	// of changes can overflow the socket, and each overflow requests such a query.
	lookPause = 100 * time.Millisecond
	lookShare = 20
)

// newDestinations limits the rate of adding destinations: each takes several queries to the kernel,
// and senders can forge addresses. Destinations above this rate are not added, and packets to them
// are sent by a socket.
var newDestinations = pace.Rate{Burst: 1000, Interval: 2 * time.Millisecond}

// Hops caches the next hops of destinations to which packets are sent from one address, and
// follows rtnetlink(7) as routes, interfaces and neighbours change.
//
// Hops never solicits a neighbour. A caller that gets no next hop sends by a socket. The kernel
// then queues the packet while it resolves the neighbour, or rejects the packet with the reason.
// Hops receives the result over rtnetlink.
//
// The goroutine run is the only writer of the cache. All methods are safe for concurrent use.
type Hops struct {
	src netip.Addr

	mu   sync.RWMutex // guards dsts, which only run changes
	dsts map[netip.Addr]*destination
	last atomic.Pointer[destination] // destination of the previous packet, one of dsts, or nil; set with mu held

	holding sync.Mutex
	holds   map[netip.Addr]int // changes of the number of holds that run has not applied yet; guarded by holding

	asked   chan request
	news    chan neighbour
	requery chan struct{} // requests a query of all destinations
	kick    chan struct{} // signals that holds is not empty
	changes *changes
	stop    chan struct{}
	over    sync.WaitGroup
	closing sync.Once
	free    func()

	// Only run uses these fields.
	kernel hopKernel
	adds   pace.Bucket
	held   map[netip.Addr]int                   // number of holds of each destination, no zero entries
	via    map[hopKey]map[*destination]struct{} // destinations of each neighbour, no empty entries
}

type hopKernel interface {
	kernel
	// entry returns the kernel's neighbour entry for r's next hop; its state is 0 if there is none.
	entry(r *Route) (netlink.Neigh, error)
}

// request asks run to follow a destination: to cache its next hop and to keep it current.
type request struct {
	dst  netip.Addr
	done chan<- struct{} // closed when the destination is followed; may be nil
}

// WatchHops follows the network namespace of the calling thread for packets from src, a local
// address. A link-local src has a zone.
func WatchHops(src netip.Addr) (*Hops, error) {
	c, err := subscribeTo(nil, 32<<10, unix.RTNLGRP_NEIGH, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR,
		unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE,
		unix.RTNLGRP_NEXTHOP)
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
		asked: make(chan request, 64), news: make(chan neighbour, 64), requery: make(chan struct{}, 1),
		stop:  make(chan struct{}),
		holds: make(map[netip.Addr]int), held: make(map[netip.Addr]int), kick: make(chan struct{}, 1),
	}
}

// Close stops the Hops and waits for its goroutines to end.
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

// To returns the next hop of dst, which must not be changed. nil means that this packet must be
// sent by a socket: the next hop is not known yet, does not exist on an Ethernet (dst is this
// host, a group, behind a tunnel, unreachable), or must be confirmed. To does not block and does
// not allocate.
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
// next hop, and whether dst is followed. If dst is not followed, missing is false. It does not
// block and does not allocate.
func (t *Hops) Missing(dst netip.Addr) (missing, followed bool) {
	d := t.find(dst)
	return d != nil && d.missing.Load(), d != nil
}

// ResolveSoon starts to follow dst, unless too many requests are pending or newDestinations is
// exceeded. It does not block.
func (t *Hops) ResolveSoon(dst netip.Addr) { t.find(dst) }

// Await starts to follow dst and waits until it is followed, at most for limit.
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

// Held reports whether dst is held. It does not block and does not allocate.
func (t *Hops) Held(dst netip.Addr) bool {
	d := t.find(dst)
	return d != nil && d.held.Load()
}

// Due reports whether a packet to dst, whose neighbour is missing, should make the kernel solicit
// the neighbour again. If it returns true, it records now, so further calls within provokeEvery
// return false.
func (t *Hops) Due(dst netip.Addr, now time.Time) bool {
	d := t.find(dst)
	if d == nil {
		return false
	}
	last := d.lastProvoked.Load()
	return now.UnixNano()-last >= int64(provokeEvery) && d.lastProvoked.CompareAndSwap(last, now.UnixNano())
}

// Hold starts to follow dst and protects it from eviction until Release is called as often as Hold.
// It does not block.
func (t *Hops) Hold(dst netip.Addr) { t.addHolds(dst, 1) }

// Release undoes one Hold. It does not block.
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

// hold applies the calls of Hold and Release. If all entries are held, dst is followed once an
// entry is free and a packet is sent to it.
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

// find returns the state of dst. If dst is not followed, find asks run to follow it and returns
// nil.
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
		default: // the next packet requests it again
		}
	case !d.used.Load():
		d.used.Store(true)
	}
	return d
}

// run is the goroutine that changes the cache.
func (t *Hops) run() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	again := t.requery
	var pause <-chan time.Time
	for {
		select {
		case <-t.stop:
			return
		case r := <-t.asked:
			// Requests of Await bypass the limit: Await has a rate limit of its own.
			if r.done != nil || t.adds.TryTake(newDestinations, time.Now()) {
				t.add(r.dst)
			}
			if r.done != nil {
				close(r.done)
			}
		case <-t.kick:
			t.hold()
		case n := <-t.news:
			t.applyState(n)
		case <-again:
			began := time.Now()
			t.lookAll()
			again, pause = nil, time.After(max(lookPause, lookShare*time.Since(began)))
		case <-pause:
			again, pause = t.requery, nil
		case <-tick.C:
			t.sweep()
		}
	}
}

// add starts to follow a destination.
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

// evict removes a destination that is not held and reports whether it found one among up to
// evictFrom destinations. It prefers a destination whose neighbour is missing or that is unused.
// The destinations are random, because the iteration of a Go map starts at a random element.
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

// forget removes dst from the cache. The caller holds mu.
func (t *Hops) forget(dst netip.Addr) {
	d := t.dsts[dst]
	t.setNeighbour(d, hopKey{})
	delete(t.dsts, dst)
	t.last.CompareAndSwap(d, nil)
}

// sweep removes unused destinations beyond fewHops and queries the others again.
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
