package verbs

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/netdev"
	"github.com/gorxe/gorxe/internal/nic/hostlinks"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/qp"
)

// links returns the links of cfg, or opens one on each address of its device. With Config.Follow
// it returns the Follower that opens and closes links.
func (d *Device) links(cfg *Config) ([]packet.Link, *hostlinks.Follower, error) {
	switch {
	case cfg.Device == "" && len(cfg.Links) == 0:
		return nil, nil, errors.New(
			"nothing to open: Config needs Device, an interface name or a local address, or Links")
	case cfg.Device != "" && len(cfg.Links) > 0:
		return nil, nil, errors.New("Config has both Device and Links: give one")
	case cfg.Device == "" && cfg.Follow:
		return nil, nil, errors.New("Config has Follow and Links: only what Device names can be followed")
	case cfg.Device == "":
		return slices.Clone(cfg.Links), nil, nil
	}
	if err := links.CheckKind(cfg.Link); err != nil {
		return nil, nil, fmt.Errorf("Config.Link: %w", err)
	}
	if cfg.Follow {
		follower, links, err := hostlinks.New(hostlinks.Config{
			Device: cfg.Device, Wrap: cfg.Wrap, Admit: cfg.Admit, Log: d.log,
			Open:    func(addr netip.Addr) (packet.Link, error) { return d.openLink(cfg.Link, addr) },
			Removed: d.choices.forget, NetDev: d.setNetDev, LeftOut: d.setSkipped,
		})
		return links, follower, err
	}
	links, err := d.linksOn(cfg)
	return links, nil, err
}

// filterAddrs returns the addresses that cfg.Admit selects.
func filterAddrs(cfg *Config, addrs []netip.Addr) []netip.Addr {
	if cfg.Admit == nil {
		return addrs
	}
	return slices.DeleteFunc(addrs, func(a netip.Addr) bool { return !cfg.Admit(a) })
}

// linksOn opens a link on each address of cfg.Device.
func (d *Device) linksOn(cfg *Config) ([]packet.Link, error) {
	device := cfg.Device
	addrs, _, ifname, err := packet.HostAddrs(device)
	if err != nil {
		return nil, err
	}
	d.setNetDev(ifname)
	if addrs = filterAddrs(cfg, addrs); len(addrs) == 0 {
		return nil, fmt.Errorf("no address of %s is one that Config.Admit chooses", device)
	}
	var links []packet.Link
	var left []error
	for _, a := range addrs {
		l, err := d.openLink(cfg.Link, a)
		switch {
		case err == nil:
			links = append(links, l)
		case errors.Is(err, syscall.EADDRNOTAVAIL):
			// An IPv6 address is tentative for about a second after it is added.
			left = append(left, err)
		default:
			closeLinks(links)
			return nil, err
		}
	}
	if len(links) == 0 {
		return nil, fmt.Errorf("no address of %s can be used: %w", device, errors.Join(left...))
	}
	d.setSkipped(left)
	return links, nil
}

// wrapLinks applies Config.Wrap to each link. It returns an error for a nil link.
func wrapLinks(cfg *Config, links []packet.Link) error {
	for i, l := range links {
		if l == nil {
			return fmt.Errorf("Config.Links: number %d is nil: give a link or leave it out", i)
		}
		if cfg.Wrap == nil {
			continue
		}
		outer := cfg.Wrap(l)
		if outer == nil {
			return fmt.Errorf(
				"Config.Wrap returned nil for the link on %v: return the link itself to leave it as it is", l.Local())
		}
		links[i] = outer
	}
	return nil
}

func closeLinks(links []packet.Link) {
	for _, l := range links {
		if l != nil {
			// The caller reports an earlier error.
			_ = l.Close()
		}
	}
}

// openLink opens a link of a kind on an address of the host. It logs details that the kind does
// not imply.
func (d *Device) openLink(kind string, addr netip.Addr) (packet.Link, error) {
	if kind != links.Auto {
		l, err := links.Listen(kind, addr)
		if err == nil && l.Caps().Detail != "" {
			d.logLink(l, nil)
		}
		return l, err
	}
	l, choices, err := links.Choose(addr)
	if err != nil {
		return nil, err
	}
	d.choices.set(addr, choices)
	d.logLink(l, choices)
	return l, nil
}

// logLink logs a link in one line.
func (d *Device) logLink(l packet.Link, choices []links.Choice) {
	c := l.Caps()
	args := []any{"device", d.name, "address", l.Local(), "link", c.Name, "path_mtu", int(qp.MTUForLink(c.MTU))}
	if c.Detail != "" {
		args = append(args, "detail", c.Detail)
	}
	for _, choice := range choices {
		if choice.Err != nil {
			args = append(args, "not_"+choice.Kind, choice.Err)
		}
	}
	d.log.Info("link opened", args...)
}

// chosenLinks holds the kinds of link considered per address, if [links.Auto] chose.
type chosenLinks struct {
	mu sync.Mutex
	of map[netip.Addr][]links.Choice
}

// LinkChoices returns the result of each kind of link at an address of the device, the best kind
// first, if Config.Link is [links.Auto]; otherwise nil.
func (d *Device) LinkChoices(addr netip.Addr) []links.Choice {
	d.choices.mu.Lock()
	defer d.choices.mu.Unlock()
	return slices.Clone(d.choices.of[addr])
}

func (c *chosenLinks) set(addr netip.Addr, choices []links.Choice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[netip.Addr][]links.Choice)
	}
	c.of[addr] = choices
}

func (c *chosenLinks) forget(addr netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, addr)
}

// Skipped returns why addresses of Config.Device are not in the GID table, nil if all are. With
// Config.Follow the result changes with the addresses.
func (d *Device) Skipped() []error {
	if list := d.skipped.Load(); list != nil {
		return *list
	}
	return nil
}

// setSkipped stores why addresses are omitted, and logs the reasons that are new.
func (d *Device) setSkipped(why []error) {
	logged := d.Skipped()
	for _, err := range why {
		if !slices.ContainsFunc(logged, func(old error) bool { return old.Error() == err.Error() }) {
			d.log.Warn("address skipped", "device", d.name, "error", err)
		}
	}
	d.skipped.Store(&why)
}

// watchPort makes the port state follow the network interface of a device opened by its name or
// address, or the links that report their state. A port is active while at least one of its links
// is up.
func (d *Device) watchPort(links []packet.Link) {
	if name := d.NetDev(); name != "" {
		d.watching = netdev.WatchCarrier(name, d.nic.PortChanged)
		return
	}
	var mu sync.Mutex
	up := make([]bool, len(links))
	for i := range up {
		up[i] = true
	}
	for i, l := range links {
		w, ok := l.(packet.StateWatcher)
		if !ok {
			continue
		}
		w.WatchState(func(now bool) {
			mu.Lock()
			defer mu.Unlock()
			up[i] = now
			any := false
			for _, u := range up {
				any = any || u
			}
			d.nic.PortChanged(any)
		})
	}
}
