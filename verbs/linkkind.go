package verbs

import (
	"net/netip"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// linkChoices are why the links of a device are of their kinds, where [packet.Auto] chose them.
type linkChoices struct {
	mu sync.Mutex
	of map[netip.Addr][]packet.Choice
}

// LinkChoices says what became of each kind of link at an address of the device, the best kind first, when Config.Link was
// [packet.Auto]; nil otherwise.
func (d *Device) LinkChoices(addr netip.Addr) []packet.Choice {
	d.choices.mu.Lock()
	defer d.choices.mu.Unlock()
	return slices.Clone(d.choices.of[addr])
}

func (c *linkChoices) set(addr netip.Addr, choices []packet.Choice) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = make(map[netip.Addr][]packet.Choice)
	}
	c.of[addr] = choices
}

func (c *linkChoices) forget(addr netip.Addr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, addr)
}

// openLink opens a link of a kind on an address of the host. It logs what cannot be known from the kind.
func (d *Device) openLink(kind string, addr netip.Addr) (packet.Link, error) {
	if kind != packet.Auto {
		l, err := packet.Listen(kind, addr)
		if err == nil && l.Caps().Detail != "" {
			d.logLink(l, nil)
		}
		return l, err
	}
	l, choices, err := packet.Choose(addr)
	if err != nil {
		return nil, err
	}
	d.choices.set(addr, choices)
	d.logLink(l, choices)
	return l, nil
}

// logLink tells of a link in one line.
func (d *Device) logLink(l packet.Link, choices []packet.Choice) {
	c := l.Caps()
	args := []any{"device", d.name, "address", l.Local(), "link", c.Name, "path_mtu", int(qp.MTUForLink(c.MTU))}
	if c.Detail != "" {
		args = append(args, "detail", c.Detail)
	}
	for _, choice := range choices {
		if choice.Why != nil {
			args = append(args, "not_"+choice.Kind, choice.Why)
		}
	}
	d.log.Info("link opened", args...)
}
