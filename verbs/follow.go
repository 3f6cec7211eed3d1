package verbs

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/internal/host/netdev"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// follower lets a device have those addresses that its network interface has. Its goroutine
// looks at the host as a whole whenever something has changed there, and makes the difference
// to what the device has: so it does not matter which changes it was told of, and in which
// order.
type follower struct {
	dev   *Device
	kind  string // of links
	wrap  func(packet.Link) packet.Link
	admit func(netip.Addr) bool // nil admits all
	watch *netdev.Watcher
	home  *netdev.Namespace

	// Of the goroutine, and of Open before it begins.
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

// follow begins to follow cfg.Device, and returns links for the addresses that are there.
func (d *Device) follow(cfg *Config) ([]packet.Link, *follower, error) {
	home, err := netdev.Here()
	if err != nil {
		return nil, nil, err
	}
	watch, err := netdev.Watch(cfg.Device)
	if err != nil {
		home.Close()
		return nil, nil, err
	}
	f := &follower{
		dev: d, kind: cfg.Link, wrap: cfg.Wrap, admit: cfg.Admit, watch: watch, home: home, links: make(map[netip.Addr]*followed), wait: firstWait,
		stop: make(chan struct{}), over: make(chan struct{}),
	}
	links, err := f.first()
	if err != nil {
		f.close()
		return nil, nil, err
	}
	return links, f, nil
}

// first opens links on the addresses that are there. What only time can change is left to the
// goroutine, anything else is an error.
func (f *follower) first() (links []packet.Link, err error) {
	if f.state, err = f.lookAtHost(); err != nil {
		return nil, err
	}
	f.dev.setNetDev(f.state.Name)
	var left []error
	for _, a := range f.state.Addrs {
		if err = f.refusal(&a); err == nil {
			var l packet.Link
			if l, err = f.dev.openLink(f.kind, a.Addr); err == nil {
				f.links[a.Addr] = &followed{index: len(links), link: l, mtu: l.Caps().MTU}
				links = append(links, l)
				continue
			}
			if !errors.Is(err, syscall.EADDRNOTAVAIL) {
				closeLinks(links)
				return nil, err
			}
		}
		left = append(left, err)
	}
	f.dev.leftOut(left)
	return links, nil
}

// start lets the goroutine begin, once the device is open.
func (f *follower) start() error {
	f.dev.engine.PortChanged(f.state.Carrier)
	entered := make(chan error)
	go func() {
		defer close(f.over)
		err := f.home.Enter()
		entered <- err
		if err == nil {
			f.run()
		}
	}()
	return <-entered
}

func (f *follower) run() {
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

// close lets go of what follow has taken.
func (f *follower) close() {
	f.watch.Close()
	f.home.Close()
}

// end ends the goroutine. The engine is closed already: what the goroutine may be waiting for
// there has an end.
func (f *follower) end() {
	close(f.stop)
	<-f.over
	f.close()
}

// lookAtHost returns what the host has of the interface and of the addresses that are admitted.
func (f *follower) lookAtHost() (netdev.State, error) {
	state, err := f.watch.Look()
	if f.admit != nil {
		state.Addrs = slices.DeleteFunc(state.Addrs, func(a netdev.Addr) bool { return !f.admit(a.Addr) })
	}
	return state, err
}

// look makes the device have what the host has.
func (f *follower) look() {
	state, err := f.lookAtHost()
	if err != nil {
		f.dev.log.Warn("following the addresses of the host failed", "device", f.dev.name, "error", err)
		f.again = true
		return
	}
	// Before the events: who is told of a change finds all of it.
	f.dev.setNetDev(state.Name)
	if state.Life != f.state.Life || state.Index != f.state.Index {
		f.removeAll("the interface is gone")
	}
	f.state = state
	f.update()
}

// update is look without a look.
func (f *follower) update() {
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
	f.dev.engine.PortChanged(f.state.Carrier)
	f.dev.leftOut(left)
}

// errDown says that an interface was not set up: there is nothing to listen on.
var errDown = errors.New("its interface is down")

// refusal says why an address of the interface is not to be used as things are, nil for
// nothing.
func (f *follower) refusal(a *netdev.Addr) error {
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

func (f *follower) tooSmall() error {
	return fmt.Errorf("the MTU of %s is %d bytes, which no path MTU fits", f.state.Name, f.state.MTU)
}

// lost says why an address that is used cannot be any more, nil while it can. What is
// connected over an address that is deprecated stays connected (RFC 4862, 5.5.4).
func (f *follower) lost(addr netip.Addr) error {
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

func (f *follower) removeAll(why string) {
	for addr := range f.links {
		f.remove(addr, errors.New(why))
	}
}

func (f *follower) remove(addr netip.Addr, why error) {
	index := f.links[addr].index
	delete(f.links, addr)
	f.dev.choices.forget(addr)
	if err := f.dev.engine.RemoveLink(index); err != nil && !errors.Is(err, nic.ErrClosed) {
		f.dev.log.Warn("closing a link failed", "device", f.dev.name, "address", addr, "error", err)
	}
	f.dev.log.Info("address gone", "device", f.dev.name, "address", addr, "gid", index, "reason", why)
}

func (f *follower) add(addr netip.Addr) error {
	l, err := f.dev.openLink(f.kind, addr)
	if err != nil {
		return err
	}
	mtu, outer := l.Caps().MTU, l
	if f.wrap != nil {
		outer = f.wrap(l)
	}
	index, err := f.dev.engine.AddLink(outer)
	if err != nil {
		return errors.Join(err, outer.Close())
	}
	f.links[addr] = &followed{index: index, link: l, mtu: mtu}
	f.dev.log.Info("address came", "device", f.dev.name, "address", addr, "gid", index)
	f.resize(addr, f.links[addr])
	return nil
}

// resize tells a link the MTU of the interface, if that is another.
func (f *follower) resize(addr netip.Addr, l *followed) {
	r, ok := l.link.(packet.Resizable)
	if !ok || l.mtu == f.state.MTU {
		return
	}
	l.mtu = f.state.MTU
	r.SetMTU(l.mtu)
	if err := f.dev.engine.UpdateLink(l.index); err != nil && !errors.Is(err, nic.ErrClosed) {
		f.dev.log.Warn("the MTU could not be changed", "device", f.dev.name, "address", addr, "mtu", l.mtu, "error", err)
		return
	}
	f.dev.log.Info("MTU changed", "device", f.dev.name, "address", addr, "gid", l.index, "mtu", l.mtu)
}
