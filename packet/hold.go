package packet

import "net/netip"

// Holder is a link that caches next hops and favours held destinations: those between Hold and
// Release. Decorators forward the calls. All methods may be called at any time and do not block.
type Holder interface {
	// ResolveSoon announces that frames will be sent to dst soon, so that the link can resolve
	// the next hop in advance.
	ResolveSoon(dst netip.Addr)
	// Hold marks dst as a peer that has answered, until Release is called the same number of times.
	// The link keeps the next hop of dst cached. It has a separate limit for frames to held
	// destinations whose link-layer address is unknown; frames to other absent hosts do not count
	// towards this limit.
	Hold(dst netip.Addr)
	Release(dst netip.Addr)
}

// ResolveSoon calls ResolveSoon of l if l is a [Holder].
func ResolveSoon(l Link, dst netip.Addr) {
	if h, ok := l.(Holder); ok {
		h.ResolveSoon(dst)
	}
}

// Hold calls Hold of l if l is a [Holder].
func Hold(l Link, dst netip.Addr) {
	if h, ok := l.(Holder); ok {
		h.Hold(dst)
	}
}

// Release calls Release of l if l is a [Holder].
func Release(l Link, dst netip.Addr) {
	if h, ok := l.(Holder); ok {
		h.Release(dst)
	}
}

// ResolveSoon calls ResolveSoon of the wrapped link.
func (t *tap) ResolveSoon(dst netip.Addr) { ResolveSoon(t.Link, dst) }

// Hold calls Hold of the wrapped link.
func (t *tap) Hold(dst netip.Addr) { Hold(t.Link, dst) }

// Release calls Release of the wrapped link.
func (t *tap) Release(dst netip.Addr) { Release(t.Link, dst) }
