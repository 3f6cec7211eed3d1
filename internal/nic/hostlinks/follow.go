// Package hostlinks adds links to a device and removes them as the addresses of a network
// interface of the host, and the interface itself, are added, changed and removed. It needs
// Linux.
package hostlinks

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/internal/host/netdev"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// Config configures a Follower. Once the Follower has started, its goroutine calls the functions.
type Config struct {
	Device  string                                     // interface or address to follow
	Open    func(addr netip.Addr) (packet.Link, error) // opens a link on an address of the host
	Removed func(addr netip.Addr)                      // called before the link of an address is closed
	Wrap    func(packet.Link) packet.Link              // decorates each link; nil: no decoration
	Admit   func(netip.Addr) bool                      // selects the addresses to use; nil: all
	NetDev  func(name string)                          // receives the name of the interface, "" if there is none
	LeftOut func(why []error)                          // receives the reasons why addresses are unused, one per address
	Log     *slog.Logger
}

// Follower gives a device a link for each address of a network interface. After any change its
// goroutine reads the full state of the host and applies the difference to the device's links, so
// the order of notifications does not matter, nor whether some are lost.
type Follower struct {
	cfg    Config
	engine *nic.Device
	name   string // name of the device in logs
	watch  *netdev.Watcher
	netns  *netdev.Namespace

	// Owned by the goroutine, and by New before it starts.
	state netdev.State             // last state of the host
	links map[netip.Addr]*followed // links by address
	retry bool                     // read the state of the host again after wait even without a notification
	wait  time.Duration            // delay before the next retry

	stop, stopped chan struct{}
}

// followed is a link that the follower has opened.
type followed struct {
	index int         // index in the GID table
	link  packet.Link // without decorators
	mtu   int         // MTU of the interface when it was last passed to the link
}

// An address that could not be used is tried again after firstWait, and then at doubling intervals
// up to longestWait, unless the kernel reports an event when the reason ends.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 10 * time.Second
)

// New reads the state of the host and returns links for its addresses. If Start is not called,
// Close releases the Follower's resources; the caller owns the links.
func New(cfg Config) (*Follower, []packet.Link, error) {
	home, err := netdev.Here()
	if err != nil {
		return nil, nil, err
	}
	watch, err := netdev.Watch(cfg.Device)
	if err != nil {
		home.Close()
		return nil, nil, err
	}
	f := &Follower{
		cfg: cfg, watch: watch, netns: home, links: make(map[netip.Addr]*followed), wait: firstWait,
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	links, err := f.first()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, links, nil
}

// first opens links on the present addresses. Failures that may pass with time are left to the
// goroutine; all others are returned as errors.
func (f *Follower) first() (links []packet.Link, err error) {
	if f.state, err = f.readHost(); err != nil {
		return nil, err
	}
	f.cfg.NetDev(f.state.Name)
	var left []error
	for _, a := range f.state.Addrs {
		if err = f.whyUnusable(&a); err == nil {
			var l packet.Link
			if l, err = f.cfg.Open(a.Addr); err == nil {
				f.links[a.Addr] = &followed{index: len(links), link: l, mtu: l.Caps().MTU}
				links = append(links, l)
				continue
			}
			if !errors.Is(err, syscall.EADDRNOTAVAIL) {
				for _, l := range links {
					// The caller must get the first error.
					_ = l.Close()
				}
				return nil, err
			}
		}
		left = append(left, err)
	}
	f.cfg.LeftOut(left)
	return links, nil
}

// Start starts the goroutine, which from then on changes the links of engine. name is the
// device's name in logs.
func (f *Follower) Start(engine *nic.Device, name string) error {
	f.engine, f.name = engine, name
	f.engine.PortChanged(f.state.Carrier)
	entered := make(chan error)
	f.netns.Go(func(err error) {
		defer close(f.stopped)
		entered <- err
		if err == nil {
			f.run()
		}
	})
	return <-entered
}

func (f *Follower) run() {
	for f.update(); ; f.sync() {
		var again <-chan time.Time
		if f.retry {
			again = time.After(f.wait)
			f.wait = min(2*f.wait, longestWait)
		}
		select {
		case <-f.stop:
			return
		case <-f.watch.Changes():
			f.wait = firstWait
		case <-again:
		}
	}
}

// Close releases the resources of a Follower that has not started.
func (f *Follower) Close() {
	f.watch.Close()
	f.netns.Close()
}

// End ends the goroutine and releases the Follower's resources. The engine must be closed before,
// so that the goroutine's calls on it return.
func (f *Follower) End() {
	close(f.stop)
	<-f.stopped
	f.Close()
}

// readHost returns the state of the interface, with only the admitted addresses.
func (f *Follower) readHost() (netdev.State, error) {
	state, err := f.watch.Look()
	if f.cfg.Admit != nil {
		state.Addrs = slices.DeleteFunc(state.Addrs, func(a netdev.Addr) bool { return !f.cfg.Admit(a.Addr) })
	}
	return state, err
}

// sync reads the state of the host and applies it to the device.
func (f *Follower) sync() {
	state, err := f.readHost()
	if err != nil {
		f.cfg.Log.Warn("following the addresses of the host failed", "device", f.name, "error", err)
		f.retry = true
		return
	}
	// Before events are raised: a program that reads one finds the new name.
	f.cfg.NetDev(state.Name)
	if state.Generation != f.state.Generation || state.Index != f.state.Index {
		f.removeAll("the interface is gone")
	}
	f.state = state
	f.update()
}

// update applies f.state to the device.
func (f *Follower) update() {
	f.retry = false
	for addr := range f.links {
		if why := f.whyLost(addr); why != nil {
			f.remove(addr, why)
		}
	}
	for addr, l := range f.links {
		f.resize(addr, l)
	}
	var left []error
	for _, a := range f.state.Addrs {
		if f.links[a.Addr] != nil {
			continue
		}
		err := f.whyUnusable(&a)
		if err == nil {
			err = f.add(a.Addr)
			f.retry = f.retry || err != nil
		}
		if err != nil {
			left = append(left, err)
		}
	}
	f.engine.PortChanged(f.state.Carrier)
	f.cfg.LeftOut(left)
}

// errDown means that the interface is down.
var errDown = errors.New("its interface is down")

// whyUnusable returns the reason why an address of the interface cannot be used now, nil if it can.
func (f *Follower) whyUnusable(a *netdev.Addr) error {
	switch {
	case !f.state.SetUp:
		return fmt.Errorf("%v: %w", a.Addr, errDown)
	case a.Unusable != nil:
		return fmt.Errorf("%v: %w", a.Addr, a.Unusable)
	case !qp.MTUForLink(f.state.MTU).Valid():
		return fmt.Errorf("%v: %w", a.Addr, f.tooSmall())
	}
	return nil
}

func (f *Follower) tooSmall() error {
	return fmt.Errorf("the MTU of %s is %d bytes, which no path MTU fits", f.state.Name, f.state.MTU)
}

// whyLost returns the reason why an address in use cannot be used any longer, nil if it can.
// Connections over a deprecated address remain (RFC 4862, 5.5.4).
func (f *Follower) whyLost(addr netip.Addr) error {
	for _, a := range f.state.Addrs {
		switch {
		case a.Addr != addr:
		case errors.Is(a.Unusable, netdev.ErrDuplicate):
			return a.Unusable
		case !qp.MTUForLink(f.state.MTU).Valid():
			return f.tooSmall()
		default:
			return nil
		}
	}
	return errors.New("the host does not have it any more")
}

func (f *Follower) removeAll(why string) {
	for addr := range f.links {
		f.remove(addr, errors.New(why))
	}
}

func (f *Follower) remove(addr netip.Addr, why error) {
	index := f.links[addr].index
	delete(f.links, addr)
	f.cfg.Removed(addr)
	if err := f.engine.RemoveLink(index); err != nil && !errors.Is(err, nic.ErrClosed) {
		f.cfg.Log.Warn("closing a link failed", "device", f.name, "address", addr, "error", err)
	}
	f.cfg.Log.Info("address gone", "device", f.name, "address", addr, "gid", index, "reason", why)
}

func (f *Follower) add(addr netip.Addr) error {
	l, err := f.cfg.Open(addr)
	if err != nil {
		return err
	}
	mtu, outer := l.Caps().MTU, l
	if f.cfg.Wrap != nil {
		if outer = f.cfg.Wrap(l); outer == nil {
			return errors.Join(errors.New(
				"nil was returned by Config.Wrap: return the link itself to leave it as it is"), l.Close())
		}
	}
	index, err := f.engine.AddLink(outer)
	if err != nil {
		return errors.Join(err, outer.Close())
	}
	f.links[addr] = &followed{index: index, link: l, mtu: mtu}
	f.cfg.Log.Info("address came", "device", f.name, "address", addr, "gid", index)
	f.resize(addr, f.links[addr])
	return nil
}

// resize passes the MTU of the interface to a link if the MTU has changed.
func (f *Follower) resize(addr netip.Addr, l *followed) {
	r, ok := l.link.(packet.Resizable)
	if !ok || l.mtu == f.state.MTU {
		return
	}
	l.mtu = f.state.MTU
	r.SetMTU(l.mtu)
	if err := f.engine.UpdateLink(l.index); err != nil && !errors.Is(err, nic.ErrClosed) {
		f.cfg.Log.Warn("the MTU could not be changed", "device", f.name, "address", addr, "mtu", l.mtu, "error", err)
		return
	}
	f.cfg.Log.Info("MTU changed", "device", f.name, "address", addr, "gid", l.index, "mtu", l.mtu)
}
