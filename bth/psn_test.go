package bth_test

import (
	"testing"

	"github.com/gorxe/gorxe/bth"
	"pgregory.net/rapid"
)

func TestPSNDiff(t *testing.T) {
	tests := []struct {
		name   string
		p, q   bth.PSN
		want   int32
		before bool
	}{
		{"equal", 5, 5, 0, false},
		{"one behind", 4, 5, -1, true},
		{"one ahead", 6, 5, 1, false},
		{"behind across the wrap", 0xffffff, 0, -1, true},
		{"ahead across the wrap", 0, 0xffffff, 1, false},
		{"furthest ahead", 0x7fffff, 0, 1<<23 - 1, false},
		{"half the range apart is behind", 0x800000, 0, -1 << 23, true},
		{"half the range apart is behind from the other side too", 0, 0x800000, -1 << 23, true},
		{"bits above the 24th do not count", 0x1000005, 5, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.p.Diff(tt.q); got != tt.want {
				t.Errorf("PSN(%#x).Diff(%#x) = %d, want %d", tt.p, tt.q, got, tt.want)
			}
			if got := tt.p.Before(tt.q); got != tt.before {
				t.Errorf("PSN(%#x).Before(%#x) = %t, want %t", tt.p, tt.q, got, tt.before)
			}
		})
	}
}

func TestPSNArithmeticStaysInRangeAndInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := bth.PSN(rapid.Uint32Range(0, uint32(bth.MaxPSN)).Draw(t, "p"))
		n := rapid.Uint32().Draw(t, "n")
		if s := p.Add(n); s > bth.MaxPSN || s.Sub(n) != p {
			t.Errorf("PSN(%#x).Add(%#x) = %#x, back %#x", p, n, s, s.Sub(n))
		}
		if s := p.Sub(n); s > bth.MaxPSN || s.Add(n) != p {
			t.Errorf("PSN(%#x).Sub(%#x) = %#x, back %#x", p, n, s, s.Add(n))
		}
		d := rapid.Int32Range(-1<<23, 1<<23-1).Draw(t, "d")
		if got := p.Add(uint32(d)).Diff(p); got != d {
			t.Errorf("PSN(%#x).Add(%d).Diff = %d", p, d, got)
		}
	})
}
