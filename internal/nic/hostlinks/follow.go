// Package hostlinks keeps the links of a device on the addresses of a network interface of the host,
// while addresses and the interface come, change and go. It needs Linux.
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

// Config says what a Follower follows and which functions it calls. Those of a Follower that has
// started are called from its goroutine.
type Config struct {
	Device  string                                     // interface or address to follow
	Open    func(addr netip.Addr) (packet.Link, error) // opens a link on an address of the host
	Removed func(addr netip.Addr)                      // a link is closed
	Wrap    func(packet.Link) packet.Link              // put around each link, nil for nothing
	Admit   func(netip.Addr) bool                      // nil admits all addresses
	NetDev  func(name string)                          // current name of the interface, "" while there is none
	LeftOut func(why []error)                          // why addresses are not used, replaces what was said before
	Log     *slog.Logger
}

// Follower gives a device those addresses that its network interface has. Its goroutine looks at
// the host as a whole whenever something has changed there, and applies the difference to what the
// device has: so it does not matter which changes it was told of, and in which order.
type Follower struct {
	cfg    Config
	engine *nic.Device
	name   string // of the device, in logs
	watch  *netdev.Watcher
	home   *netdev.Namespace

	// Of the goroutine, and of New before it starts.
	state netdev.State // as of the last look
	links map[netip.Addr]*followed
	again bool          // the host is to be looked at again although nothing changes there
	wait  time.Duration // until then

	stop, over chan struct{}
}

// followed is a link that the follower has opened.
type followed struct {
	index int         // in the GID table
	link  packet.Link // without what is wrapped around it
	mtu   int         // of the interface
}

// Where an address could not be used for a reason that no message of the kernel tells the end
// of, it is tried again after firstWait, and then less and less often, down to longestWait.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 10 * time.Second
)

// New looks at the host and returns links for the addresses that are there. Without Start, Close
// releases what the Follower holds; the links are the caller's.
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
		cfg: cfg, watch: watch, home: home, links: make(map[netip.Addr]*followed), wait: firstWait,
		stop: make(chan struct{}), over: make(chan struct{}),
	}
	links, err := f.first()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, links, nil
}

// first opens links on the addresses that are there. What only time can change is left to the
// goroutine, anything else is an error.
func (f *Follower) first() (links []packet.Link, err error) {
	if f.state, err = f.lookAtHost(); err != nil {
		return nil, err
	}
	f.cfg.NetDev(f.state.Name)
	var left []error
	for _, a := range f.state.Addrs {
		if err = f.refusal(&a); err == nil {
			var l packet.Link
			if l, err = f.cfg.Open(a.Addr); err == nil {
				f.links[a.Addr] = &followed{index: len(links), link: l, mtu: l.Caps().MTU}
				links = append(links, l)
				continue
			}
			if !errors.Is(err, syscall.EADDRNOTAVAIL) {
				for _, l := range links {
					// The caller has to hear of what failed before.
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

// Start starts the goroutine, which changes the links of engine from then on. name is that of the
// device in logs.
func (f *Follower) Start(engine *nic.Device, name string) error {
	f.engine, f.name = engine, name
	f.engine.PortChanged(f.state.Carrier)
	entered := make(chan error)
	f.home.Go(func(err error) {
		defer close(f.over)
		entered <- err
		if err == nil {
			f.run()
		}
	})
	return <-entered
}

func (f *Follower) run() {
	for f.update(); ; f.look() {
		var again <-chan time.Time
		if f.again {
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

// Close releases what a Follower holds that has not started.
func (f *Follower) Close() {
	f.watch.Close()
	f.home.Close()
}

// End ends the goroutine and releases what the Follower holds. The engine is closed already, so what
// the goroutine may be waiting for there has an end.
func (f *Follower) End() {
	close(f.stop)
	<-f.over
	f.Close()
}

// lookAtHost returns what the host has of the interface and of the addresses that are admitted.
func (f *Follower) lookAtHost() (netdev.State, error) {
	state, err := f.watch.Look()
	if f.cfg.Admit != nil {
		state.Addrs = slices.DeleteFunc(state.Addrs, func(a netdev.Addr) bool { return !f.cfg.Admit(a.Addr) })
	}
	return state, err
}

// look makes the device have what the host has.
func (f *Follower) look() {
	state, err := f.lookAtHost()
	if err != nil {
		f.cfg.Log.Warn("following the addresses of the host failed", "device", f.name, "error", err)
		f.again = true
		return
	}
	// Before the events: who is told of a change finds all of it.
	f.cfg.NetDev(state.Name)
	if state.Life != f.state.Life || state.Index != f.state.Index {
		f.removeAll("the interface is gone")
	}
	f.state = state
	f.update()
}

// update is look without a look.
func (f *Follower) update() {
	f.again = false
	for addr := range f.links {
		if why := f.lost(addr); why != nil {
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
		err := f.refusal(&a)
		if err == nil {
			err = f.add(a.Addr)
			f.again = f.again || err != nil
		}
		if err != nil {
			left = append(left, err)
		}
	}
	f.engine.PortChanged(f.state.Carrier)
	f.cfg.LeftOut(left)
}

// errDown says that an interface was not set up: there is nothing to listen on.
var errDown = errors.New("its interface is down")

// refusal says why an address of the interface is not to be used as things are, nil for
// nothing.
func (f *Follower) refusal(a *netdev.Addr) error {
	switch {
	case !f.state.SetUp:
		return fmt.Errorf("%v: %w", a.Addr, errDown)
	case a.Flaw != nil:
		return fmt.Errorf("%v: %w", a.Addr, a.Flaw)
	case !qp.MTUForLink(f.state.MTU).Valid():
		return fmt.Errorf("%v: %w", a.Addr, f.tooSmall())
	}
	return nil
}

func (f *Follower) tooSmall() error {
	return fmt.Errorf("the MTU of %s is %d bytes, which no path MTU fits", f.state.Name, f.state.MTU)
}

// lost says why an address that is used cannot be any more, nil while it can. What is
// connected over an address that is deprecated stays connected (RFC 4862, 5.5.4).
func (f *Follower) lost(addr netip.Addr) error {
	for _, a := range f.state.Addrs {
		switch {
		case a.Addr != addr:
		case errors.Is(a.Flaw, netdev.ErrDuplicate):
			return a.Flaw
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
			return errors.Join(errors.New("nil was returned by Config.Wrap: return the link itself to leave it as it is"), l.Close())
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

// resize tells a link the MTU of the interface, if that is another.
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
