//go:build linux

package ucma

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

func (r *request) resolveIP(q *uapi.UCMResolveIP) (any, error) {
	to, ok := q.DstAddr.AddrPort()
	from, _ := q.SrcAddr.AddrPort()
	return nil, r.resolve(q.ID, from, to, ok, q.TimeoutMs)
}

func (r *request) resolveAddr(q *uapi.UCMResolveAddr) (any, error) {
	to, ok := q.DstAddr.AddrPort()
	var from netip.AddrPort
	if q.SrcSize != 0 {
		from, _ = q.SrcAddr.AddrPort()
	}
	return nil, r.resolve(q.ID, from, to, ok, q.TimeoutMs)
}

// resolve starts to resolve the route from an address (invalid: any) to another address. known is
// false if the second address is neither IPv4 nor IPv6. timeout is in ms. An event reports the
// result.
func (r *request) resolve(id uint32, from, to netip.AddrPort, known bool, timeout uint32) error {
	i, err := r.ch.find(id)
	if err != nil {
		return err
	}
	if !known || i.ib {
		return fmt.Errorf("the address of the peer is of another family than IPv4 and IPv6: %w", uapi.EAFNOSUPPORT)
	}
	if err := i.in(idle, addrBound); err != nil {
		return err
	}
	if err := i.crowded(); err != nil {
		return err
	}
	if i.state == idle {
		if !from.IsValid() {
			from = netip.AddrPortFrom(unspecifiedLike(to.Addr()), 0)
		}
		if err := i.bind(from); err != nil {
			return err
		}
	}
	if a := i.local.Addr(); !a.IsUnspecified() && a.Unmap().Is4() != to.Addr().Unmap().Is4() {
		return fmt.Errorf("from %v to %v: %w", a, to.Addr(), uapi.EINVAL)
	}
	i.state, i.remote = addrQuery, to
	if to.Addr().IsMulticast() {
		i.finishResolving(i.server.groupEntry(i, to.Addr()))
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), resolveTime(timeout), uapi.ETIMEDOUT)
	i.resolving = cancel
	source := netip.Addr{}
	if i.device {
		source = i.gid.Addr
	}
	go i.resolveRoute(ctx, cancel, r.ch.resolves, source, to.Addr())
	return nil
}

// resolveRoute resolves the route from source (invalid: any) to an address. It does not hold the
// lock while it waits for the host. turns is Channel.resolves.
func (i *ident) resolveRoute(ctx context.Context, cancel func(), turns chan struct{}, source, to netip.Addr) {
	var g verbs.GIDEntry
	err := inTurn(ctx, turns, func() error {
		return inTurn(ctx, i.server.resolves, func() (err error) {
			g, err = i.server.dev.ResolveAddr(ctx, source, to)
			return err
		})
	})
	cancel()
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	i.resolving = nil
	if !i.dead {
		i.finishResolving(g, err)
	}
}

// groupEntry returns the entry of the GID table from which datagrams to a group are sent: that of
// the identifier or, if it has none, the first entry of the group's family, whose link joins
// groups.
func (s *Server) groupEntry(i *ident, group netip.Addr) (verbs.GIDEntry, error) {
	if i.device {
		return i.gid, nil
	}
	for _, g := range s.dev.GIDs() {
		if g.Addr.Is4() == group.Unmap().Is4() {
			return g, nil
		}
	}
	return verbs.GIDEntry{}, fmt.Errorf("the device has no address of the family of %v: %w", group, uapi.ENETUNREACH)
}

// finishResolving handles the result of a resolution. The caller holds mu.
func (i *ident) finishResolving(g verbs.GIDEntry, err error) {
	if err != nil {
		i.state = addrBound
		i.event(uapi.UCMEventAddrError, failure(unreachable(err)), nil)
		return
	}
	i.gid, i.device = g, true
	if i.local.Addr().IsUnspecified() {
		i.local = netip.AddrPortFrom(g.Addr, i.local.Port())
	}
	i.state = addrResolved
	i.event(uapi.UCMEventAddrResolved, 0, nil)
}

// inTurn calls f as soon as turns has space for a token, and removes the token afterwards. If ctx
// ends first, it does not call f.
func inTurn(ctx context.Context, turns chan struct{}, f func() error) error {
	select {
	case turns <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-turns }()
	return f()
}

// unreachable returns the error number of a failed resolution.
func unreachable(err error) uapi.Errno {
	var e syscall.Errno
	var own uapi.Errno
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return uapi.ETIMEDOUT
	case errors.Is(err, verbs.ErrClosed):
		return uapi.ENODEV
	case errors.As(err, &e):
		return uapi.Errno(e)
	}
	return uapi.EHOSTUNREACH
}

// Limits of the timeout of a resolution.
const (
	minResolve = 100 * time.Millisecond
	maxResolve = time.Minute
)

func resolveTime(ms uint32) time.Duration {
	return min(max(time.Duration(ms)*time.Millisecond, minResolve), maxResolve)
}

// unspecifiedLike returns the unspecified address of a's family.
func unspecifiedLike(a netip.Addr) netip.Addr {
	if a.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// resolveRoute has nothing to resolve: RoCE has no subnet administrator (cma_resolve_iboe_route).
func (r *request) resolveRoute(q *uapi.UCMResolveRoute) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	if err := i.in(addrResolved); err != nil {
		return nil, err
	}
	i.state = routeResolved
	i.param.route(i)
	i.event(uapi.UCMEventRouteResolved, 0, nil)
	return nil, nil
}
