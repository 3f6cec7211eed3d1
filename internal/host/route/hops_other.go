//go:build !linux

package route

import (
	"fmt"
	"net/netip"
	"runtime"
	"time"
)

// Hops needs Linux.
type Hops struct{}

// WatchHops returns an error: it needs Linux.
func WatchHops(src netip.Addr) (*Hops, error) {
	return nil, fmt.Errorf("next hops from %v: following neighbours needs Linux, this is %s", src, runtime.GOOS)
}

// To returns nil.
func (*Hops) To(netip.Addr) *Hop { return nil }

// Missing returns false, true.
func (*Hops) Missing(netip.Addr) (missing, followed bool) { return false, true }

// Await does nothing.
func (*Hops) Await(netip.Addr, time.Duration) {}

// Due returns false.
func (*Hops) Due(netip.Addr, time.Time) bool { return false }

// Held returns false.
func (*Hops) Held(netip.Addr) bool { return false }

// ResolveSoon does nothing.
func (*Hops) ResolveSoon(netip.Addr) {}

// Hold does nothing.
func (*Hops) Hold(netip.Addr) {}

// Release does nothing.
func (*Hops) Release(netip.Addr) {}

// Close does nothing.
func (*Hops) Close() {}
