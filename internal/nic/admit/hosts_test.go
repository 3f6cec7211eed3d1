package admit

import (
	"bytes"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestAdmitsWhatAnyOfThePrefixesHolds(t *testing.T) {
	addresses := rapid.Custom(func(t *rapid.T) netip.Addr {
		b := []byte{10, 0, rapid.ByteRange(0, 3).Draw(t, "third"), rapid.Byte().Draw(t, "fourth")}
		if rapid.Bool().Draw(t, "IPv6") {
			b = append(bytes.Repeat([]byte{0xfd}, 12), b...)
		}
		a, _ := netip.AddrFromSlice(b)
		return a
	})
	prefixes := rapid.SliceOf(rapid.Custom(func(t *rapid.T) netip.Prefix {
		a := addresses.Draw(t, "address")
		return netip.PrefixFrom(a, a.BitLen()-rapid.IntRange(0, 12).Draw(t, "host bits"))
	}))
	rapid.Check(t, func(t *rapid.T) {
		peers := prefixes.Draw(t, "peers")
		host := addresses.Draw(t, "host")
		want := len(peers) == 0 || slices.ContainsFunc(peers, func(p netip.Prefix) bool { return p.Contains(host) })
		if got := NewHosts(peers).Has(host); got != want {
			t.Fatalf("%v is admitted: %v", host, got)
		}
	})
}
