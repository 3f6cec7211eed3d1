package packet

import "net/netip"

// Holder is a link that keeps what it knows of the ways to peers. Decorators pass on
// what they are told.
type Holder interface {
	// Expect tells that dst will be sent to soon: what it takes to know the way can be done
	// meanwhile. It may be called at any time, and does not wait.
	Expect(dst netip.Addr)
	// Hold tells that dst is a peer that is there, until Release is called as often. Both may be
	// called at any time, and do not wait.
	Hold(dst netip.Addr)
	Release(dst netip.Addr)
}

// Expect tells l that dst will be sent to soon, if l wants to know.
func Expect(l Link, dst netip.Addr) {
	if h, ok := l.(Holder); ok {
		h.Expect(dst)
	}
}

// Hold tells l that dst is a peer that is there, if l wants to know.
func Hold(l Link, dst netip.Addr) {
	if h, ok := l.(Holder); ok {
		h.Hold(dst)
	}
}

// Release takes back one Hold.
func Release(l Link, dst netip.Addr) {
	if h, ok := l.(Holder); ok {
		h.Release(dst)
	}
}

// Expect is that of the link below.
func (t *tap) Expect(dst netip.Addr) { Expect(t.Link, dst) }

// Hold is that of the link below.
func (t *tap) Hold(dst netip.Addr) { Hold(t.Link, dst) }

// Release is that of the link below.
func (t *tap) Release(dst netip.Addr) { Release(t.Link, dst) }
