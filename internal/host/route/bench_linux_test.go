package route

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
)

// BenchmarkResolve resolves a neighbour in the kernel's cache, without and with the sources of a
// device.
func BenchmarkResolve(b *testing.B) {
	h := newHosts(b)
	for _, c := range []struct {
		name, dst string
		o         Options
	}{
		{"IPv4", right4, Options{}},
		{"IPv6", right6, Options{}},
		{"IPv4 from a device", right4, Options{Sources: addrs(leftLL+scope, left4, left6)}},
	} {
		dst := netip.MustParseAddr(c.dst)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			testnet.In(b, h.Left, func() error {
				for b.Loop() {
					if _, err := Resolve(b.Context(), dst, c.o); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
