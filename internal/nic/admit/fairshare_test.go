package admit

import (
	"net/netip"
	"testing"
)

// A sender that sends more than is read loses its own messages.
func TestFairShareAdmitsTheShareOfEachSender(t *testing.T) {
	g := NewFairShare(16)
	var src [4]netip.Addr
	for i := range src {
		src[i] = netip.AddrFrom4([4]byte{192, 0, 2, byte(i)})
	}
	enter := func(i, want int) {
		t.Helper()
		n := 0
		for ; n < 100 && g.Admits(src[i]); n++ {
			g.Take(src[i])
		}
		if n != want {
			t.Errorf("%d of sender %d were let through, want %d", n, i, want)
		}
	}
	enter(0, 8) // alone: half of the receives
	enter(1, 4) // with another: half of that
	enter(2, 2)
	enter(3, 2)
	enter(0, 0)
	for range 8 {
		g.Read(src[0])
	}
	enter(1, 0)
	enter(2, 0) // 8 wait, all shares are used up
	g.Read(src[1])
	enter(0, 2) // one open to any sender, then one up to its share, a fourth
	for _, i := range []int{0, 0, 1, 1, 1, 2, 2, 3, 3} {
		g.Read(src[i])
	}
	g.Read(src[3]) // of no sender
	if g.unread != 0 || len(g.of) != 0 {
		t.Errorf("%d wait: %v", g.unread, g.of)
	}
	enter(3, 8)
}
