package conformcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/internal/cli/app"
)

// checkLink checks the flags that name addresses and the link.
func (p *params) checkLink() error {
	if !slices.Contains(linkKinds, p.link) {
		return app.Usagef("--link %q: choose udp, raw or auto", p.link)
	}
	for _, f := range []struct{ flag, value string }{{"--local", p.local}, {"--dut-addr", p.addr}} {
		if _, err := netip.ParseAddr(f.value); f.value != "" && err != nil {
			return app.Usagef("%s %q is no IP address", f.flag, f.value)
		}
	}
	return nil
}

// resolve sets the addresses of the device.
func (p *params) resolve(ctx context.Context) error {
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", p.host)
	if err != nil {
		return fmt.Errorf("HOST: %w", err)
	}
	p.device.Host = preferred(all)
	p.device.Addr = p.device.Host
	if p.addr != "" {
		p.device.Addr = netip.MustParseAddr(p.addr).Unmap() // checkLink has parsed it
	}
	if a := p.device.Addr; a.IsUnspecified() || a.IsMulticast() {
		return app.Usagef("%v is no address of a device", a)
	}
	return nil
}

// preferred returns the first IPv4 address of a name, or else its first address: stock programs
// listen on IPv4 in all versions.
func preferred(all []netip.Addr) netip.Addr {
	for _, a := range all {
		if a = a.Unmap(); a.Is4() {
			return a
		}
	}
	return all[0]
}

// open opens the link at the local address. Without --local, it is the address on the route to the
// device; if the device is on this host, it is another address of this host.
func (p *params) open(e *env) (wire.Link, error) {
	if p.local != "" {
		return p.openAt(e, netip.MustParseAddr(p.local).Unmap())
	}
	dst := p.device.Addr
	local, err := onRoute(dst)
	if err != nil {
		return nil, fmt.Errorf("there is no route to %v: %w; name a local address with --local", dst, err)
	}
	if local != dst && !dst.IsLoopback() {
		return p.openAt(e, local)
	}
	err = fmt.Errorf("%v is this host, which has no other address for the tester: name one with --local", dst)
	for _, other := range others(dst) {
		var l wire.Link
		if l, err = p.openAt(e, other); err == nil || !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return nil, err
}

// onRoute returns the local address of packets to dst.
func onRoute(dst netip.Addr) (netip.Addr, error) {
	c, err := net.Dial("udp", netip.AddrPortFrom(dst, wire.Port).String())
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	ap, err := netip.ParseAddrPort(c.LocalAddr().String())
	return ap.Addr().Unmap(), err
}

// tries is the number of loopback addresses that are tried.
const tries = 16

// others returns addresses from which a tester on this host can reach dst, an address of this host.
func others(dst netip.Addr) (list []netip.Addr) {
	if addrs, err := net.InterfaceAddrs(); err == nil && !dst.IsLoopback() {
		for _, a := range addrs {
			p, err := netip.ParsePrefix(a.String())
			if err == nil && p.Addr() != dst && p.Addr().Is4() == dst.Is4() && !p.Addr().IsLoopback() &&
				!p.Addr().IsLinkLocalUnicast() {
				list = append(list, p.Addr())
			}
		}
	}
	if !dst.Is4() {
		return list
	}
	next := netip.AddrFrom4([4]byte{127, 0, 0, 2})
	if dst.IsLoopback() {
		next = dst.Next()
	}
	for range tries {
		if !next.IsLoopback() || next == netip.AddrFrom4([4]byte{127, 255, 255, 255}) {
			next = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		if next != dst {
			list = append(list, next)
		}
		next = next.Next()
	}
	return list
}

// openAt opens the link of the kind that --link names at a local address.
func (p *params) openAt(e *env, local netip.Addr) (wire.Link, error) {
	if local == p.device.Addr {
		return nil, app.Usagef("--local %v is the address of the device: name another one", local)
	}
	if local.Is4() != p.device.Addr.Is4() {
		return nil, app.Usagef("the tester has %v and the device %v: choose two of IPv4, or two of IPv6, with --local "+
			"and --dut-addr", local, p.device.Addr)
	}
	kind := p.link
	if kind == "auto" {
		kind = "raw"
	}
	l, err := e.listen[kind](local)
	if p.link == "auto" && errors.Is(err, wire.ErrRaw) {
		l, err = e.listen["udp"](local)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &inUseError{local, err}
	}
	return l, err
}

// inUseError is the error of a local address whose port is in use.
type inUseError struct {
	local netip.Addr
	err   error
}

func (e *inUseError) Error() string {
	return fmt.Sprintf("UDP port %d of %v is in use on this host, probably by a gorxe (daemon, run, perf, …) or by "+
		"rdma_rxe, which uses the port of all addresses; 'ss -ulpn sport = %d' shows it. End it, name another address "+
		"with --local, or run the tester in another network namespace", wire.Port, e.local, wire.Port)
}

func (e *inUseError) Unwrap() error { return e.err }
