package trace

import "testing"

func TestTimesAreWrittenWithThreeDigits(t *testing.T) {
	for _, tt := range []struct {
		ns   int64
		want string
	}{
		{0, "0ns"}, {999, "999ns"}, {1000, "1µs"}, {1050, "1.05µs"}, {12345, "12.3µs"}, {999600, "1ms"},
		{640000, "640µs"}, {3_064_000, "3.06ms"},
		{12_295_000, "12.3ms"}, {1_500_000_000, "1.5s"},
		{100_400_000_000, "100s"}, {1_234_000_000_000, "1230s"}, {-1500, "-1.5µs"},
		{1<<63 - 1, "4610000000s"}, {-1 << 63, "-4610000000s"},
	} {
		if got := lasting(tt.ns); got != tt.want {
			t.Errorf("%d ns is written %s, want %s", tt.ns, got, tt.want)
		}
	}
}
