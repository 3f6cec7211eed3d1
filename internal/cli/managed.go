package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// managedFlags choose the device of a command that meets its peer by the connection manager.
type managedFlags struct {
	dev    string
	link   string
	spin   time.Duration
	shards int
	faults string
	trace  string
}

func (f *managedFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.dev, "ib-dev", "", "network interface or local `address` to use (default: that which leads to the server; at a server, every address of the host)")
	addLinkFlag(fs, &f.link)
	addSpinFlag(fs, &f.spin)
	addShardsFlag(fs, &f.shards)
	fs.StringVar(&f.faults, "fault", "", "do harm to the packets that leave: a `list` such as drop=1%,reorder=5%,seed=7")
	addTraceFlag(fs, &f.trace)
}

func (f *managedFlags) check() error {
	return f.flags().check()
}

// flags are those of other commands that say the same.
func (f *managedFlags) flags() *deviceFlags {
	return &deviceFlags{ibPort: 1, link: f.link, spin: f.spin, shards: f.shards, faults: f.faults, trace: f.trace}
}

// dialing opens the device for a server at host, on the local address source or, if that is empty, the one from which
// the host is reached.
func (a *app) dialing(ctx context.Context, f *managedFlags, source, host string, port uint16) (*verbs.Device, netip.AddrPort, error) {
	to, err := route.LookupAddrPort(ctx, host, port, route.AsResolved)
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	device := f.dev
	if device == "" {
		device = source
	}
	if device == "" {
		r, err := route.Find(to[0].Addr(), route.Options{})
		if err != nil {
			return nil, netip.AddrPort{}, err
		}
		device = r.Src.String()
	}
	dev, err := a.openDevice(f.flags(), device)
	return dev, to[0], err
}

// serving opens the device of a server that listens at the address bind, or at all of the device if it is empty or
// unspecified, and of the host if no device is named.
func (a *app) serving(ctx context.Context, f *managedFlags, bind string) (*verbs.Device, netip.Addr, error) {
	var at netip.Addr
	if bind != "" {
		list, err := route.LookupAddrPort(ctx, bind, 0, route.AsResolved)
		if err != nil {
			return nil, at, err
		}
		at = list[0].Addr()
	}
	device := f.dev
	if device == "" && at.IsValid() && !at.IsUnspecified() {
		device = at.String()
	}
	if device != "" {
		dev, err := a.openDevice(f.flags(), device)
		return dev, at, err
	}
	cfg := f.flags().config("")
	if err := a.recorded(&cfg, f.trace); err != nil {
		return nil, at, err
	}
	links, err := hostLinks(f.link)
	if err != nil {
		return nil, at, err
	}
	cfg.Links = links
	dev, err := a.open(cfg)
	if err != nil {
		for _, l := range links {
			l.Close()
		}
	}
	return dev, at, err
}

// hostLinks are links on every address of the host, those of loopback interfaces only if there are no others.
func hostLinks(kind string) ([]packet.Link, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	for _, loopback := range []bool{false, true} {
		var links []packet.Link
		for _, i := range ifs {
			if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 != loopback {
				continue
			}
			// An interface without an address has no part in it.
			addrs, _, _, err := packet.HostAddrs(i.Name)
			if err != nil {
				continue
			}
			for _, addr := range addrs {
				l, err := packet.Listen(kind, addr)
				if errors.Is(err, syscall.EADDRNOTAVAIL) {
					continue // an IPv6 address is tentative for a second after it was set
				}
				if err != nil {
					for _, l := range links {
						l.Close()
					}
					return nil, fmt.Errorf("%w; name one address or interface with --ib-dev", err)
				}
				links = append(links, l)
			}
		}
		if len(links) > 0 {
			return links, nil
		}
	}
	return nil, errors.New("the host has no IP address")
}

// announce says where a server listens, for people and for scripts that wait for it.
func (a *app) announce(l *verbs.Listener, dev *verbs.Device) {
	where := l.Addr().Addr().String()
	if !l.Addr().Addr().IsValid() || l.Addr().Addr().IsUnspecified() {
		where = ""
		for _, g := range dev.GIDs() {
			if where != "" {
				where += ", "
			}
			where += g.Addr.String()
		}
	}
	fmt.Fprintf(a.stderr, "listening on port %d of %s\n", l.Addr().Port(), where)
}
