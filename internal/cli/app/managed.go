package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/verbs"
	"github.com/spf13/pflag"
)

// ManagedFlags select the device of a command that connects to its peer by the connection
// manager.
type ManagedFlags struct {
	Interface string
	Link      string
	Spin      time.Duration
	shards    int
	Faults    string // faults of outgoing packets
	faultsIn  string // faults of incoming packets; Add has no flag for them
	Trace     string
}

// Add defines the flags on fs.
func (f *ManagedFlags) Add(fs *pflag.FlagSet) {
	fs.StringVar(&f.Interface, "ib-dev", "", "network interface or local `address` to use "+
		"(default for a client: the address that routes to the server; for a server: every address of the host)")
	addLinkFlag(fs, &f.Link)
	addSpinFlag(fs, &f.Spin)
	addShardsFlag(fs, &f.shards)
	addFaultFlag(fs, &f.Faults)
	AddTraceFlag(fs, &f.Trace)
}

// Check returns a usage error for the first flag with an invalid value.
func (f *ManagedFlags) Check() error {
	return f.flags().Check()
}

// CheckSource returns a usage error if the client selects its device twice: by --ib-dev and by
// source, the value of another flag.
func (f *ManagedFlags) CheckSource(flag, source string) error {
	if f.Interface != "" && source != "" {
		return Usagef("--ib-dev %s and %s %s both select the device: omit one of them", f.Interface, flag, source)
	}
	return nil
}

// flags returns the equivalent DeviceFlags.
func (f *ManagedFlags) flags() *DeviceFlags {
	return &DeviceFlags{ibPort: 1, Link: f.Link, Spin: f.Spin, shards: f.shards, Faults: f.Faults,
		faultsIn: f.faultsIn, Trace: f.Trace}
}

// OpenToDial opens the device for a server at host, on the local address source or, if source is
// empty, the one from which the host is reached. It also returns the address of the server.
func (a *App) OpenToDial(ctx context.Context, f *ManagedFlags, source, host string, port uint16) (*verbs.Device,
	netip.AddrPort, error) {
	to, err := route.LookupAddrPort(ctx, host, port, route.AsResolved)
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	device := f.Interface
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
	dev, err := a.OpenDevice(f.flags(), device)
	return dev, to[0], err
}

// OpenToServe opens the device of a server that listens at the address bind. If bind is empty or
// unspecified, the server listens at all addresses of the device, or of the host if no device is
// named.
func (a *App) OpenToServe(ctx context.Context, f *ManagedFlags, bind string) (*verbs.Device, netip.Addr, error) {
	var at netip.Addr
	if bind != "" {
		list, err := route.LookupAddrPort(ctx, bind, 0, route.AsResolved)
		if err != nil {
			return nil, at, err
		}
		at = list[0].Addr()
	}
	device := f.Interface
	if device == "" && at.IsValid() && !at.IsUnspecified() {
		device = at.String()
	}
	if device != "" {
		dev, err := a.OpenDevice(f.flags(), device)
		return dev, at, err
	}
	cfg := f.flags().config("")
	if err := a.recorded(&cfg, f.Trace); err != nil {
		return nil, at, err
	}
	links, err := hostLinks(f.Link)
	if err != nil {
		return nil, at, err
	}
	cfg.Links = links
	dev, err := a.Open(cfg)
	if err != nil {
		for _, l := range links {
			l.Close()
		}
	}
	return dev, at, err
}

// hostLinks opens links on every address of the host. It uses addresses of loopback interfaces
// only if there are no others.
func hostLinks(kind string) ([]packet.Link, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing network interfaces: %w", err)
	}
	for _, loopback := range []bool{false, true} {
		var opened []packet.Link
		for _, i := range ifs {
			if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 != loopback {
				continue
			}
			// Skip interfaces without an address.
			addrs, _, _, err := packet.HostAddrs(i.Name)
			if err != nil {
				continue
			}
			for _, addr := range addrs {
				l, err := links.Listen(kind, addr)
				if errors.Is(err, syscall.EADDRNOTAVAIL) {
					continue // an IPv6 address is tentative for about a second after it was set
				}
				if err != nil {
					for _, l := range opened {
						l.Close()
					}
					return nil, fmt.Errorf("%w; name one address or interface with --ib-dev", err)
				}
				opened = append(opened, l)
			}
		}
		if len(opened) > 0 {
			return opened, nil
		}
	}
	return nil, errors.New("the host has no IP address")
}

// Announce prints the address and port of a listening server, for users and for scripts that wait
// for this line.
func (a *App) Announce(l *verbs.Listener, dev *verbs.Device) {
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
	fmt.Fprintf(a.Stderr, "listening on port %d of %s\n", l.Addr().Port(), where)
}
