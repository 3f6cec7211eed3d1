package xsk

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// modes are the XDP attach modes, in order of preference: in the driver, or in the generic hook
// before the IP stack, which every interface supports.
var modes = []struct {
	name string
	flag link.XDPAttachFlags
}{
	{"native", link.XDPDriverMode},
	{"generic", link.XDPGenericMode},
}

// ErrOccupied is the error for an interface that has an XDP program of another owner.
var ErrOccupied = errors.New("another XDP program is attached")

// attach attaches the first program of tables that the interface accepts, in the best mode that it
// accepts; if generic is set, only in generic mode. mode is the name of this mode. The error
// contains every rejected attempt.
func attach(ifindex int, tables []*table, generic bool) (hook link.Link, t *table, mode string, err error) {
	var refused []error
	for _, m := range modes {
		if generic && m.flag != link.XDPGenericMode {
			continue
		}
		for _, t := range tables {
			hook, err := link.AttachXDP(link.XDPOptions{Program: t.program, Interface: ifindex, Flags: m.flag})
			switch {
			case err == nil:
				return hook, t, m.name, nil
			case errors.Is(err, unix.EBUSY), errors.Is(err, unix.EEXIST):
				return nil, nil, "", fmt.Errorf("%w%s (see: ip link show); detach it, or use another kind of link: %w",
					ErrOccupied, occupant(ifindex), err)
			}
			refused = append(refused, fmt.Errorf("%s mode: %w", m.name, err))
		}
	}
	return nil, nil, "", fmt.Errorf("the interface accepts no XDP program: %w", errors.Join(refused...))
}

// occupant describes the program attached to an interface, for an error text; "" if the kernel does
// not report it.
func occupant(ifindex int) string {
	l, err := netlink.LinkByIndex(ifindex)
	if err != nil || l.Attrs().Xdp == nil || l.Attrs().Xdp.ProgId == 0 {
		return ""
	}
	id := l.Attrs().Xdp.ProgId
	p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if err != nil {
		return fmt.Sprintf(": id %d", id)
	}
	defer p.Close()
	if info, err := p.Info(); err == nil && info.Name != "" {
		return fmt.Sprintf(": id %d, named %q", id, info.Name)
	}
	return fmt.Sprintf(": id %d", id)
}
