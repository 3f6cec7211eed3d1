//go:build linux

package ucma

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/internal/uapi"
)

func (r *request) bindIP(q *uapi.UCMBindIP) (any, error) {
	a, ok := q.Addr.AddrPort()
	return nil, r.bind(q.ID, a, ok, q.Addr.Family())
}

func (r *request) bindAddr(q *uapi.UCMBind) (any, error) {
	a, ok := q.Addr.AddrPort()
	return nil, r.bind(q.ID, a, ok, q.Addr.Family())
}

// bind assigns the address at to an identifier. known is false if the address is neither IPv4 nor
// IPv6; family is its address family.
func (r *request) bind(id uint32, at netip.AddrPort, known bool, family uint16) error {
	i, err := r.ch.find(id)
	if err != nil {
		return err
	}
	if !known || i.ib {
		// librdmacm tries AF_IB first, and falls back if that fails.
		return fmt.Errorf("an address of family %d: %w", family, uapi.EAFNOSUPPORT)
	}
	if err := i.in(idle); err != nil {
		return err
	}
	return i.bind(at)
}

// bind moves an identifier from IDLE to ADDR_BOUND with an address of the device or an unspecified
// address. A loopback address that is not an address of the device means all addresses of its
// family, as in the kernel (cma_any_addr): programs bind to "localhost" to find a device. The
// caller holds mu.
func (i *ident) bind(at netip.AddrPort) error {
	g, ok := i.server.entry(at.Addr())
	switch a := at.Addr(); {
	case ok || a.IsUnspecified():
	case a.Unmap().IsLoopback():
		at = netip.AddrPortFrom(unspecifiedLike(a), at.Port())
	default:
		return fmt.Errorf("%v is no address of the device: %w", a, uapi.EADDRNOTAVAIL)
	}
	if err := i.bindPort(at); err != nil {
		return err
	}
	if ok {
		i.gid, i.device = g, true
	}
	i.state = addrBound
	return nil
}
