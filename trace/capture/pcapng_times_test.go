package capture_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"
)

func TestAFrameHasNoTimeThatNanosecondsSince1970CannotExpress(t *testing.T) {
	o := binary.LittleEndian
	for _, tt := range []struct {
		resolution byte // as a negative power of ten
		stamp      uint64
		offset     int64
		want       time.Time
	}{
		{6, 1, 0, time.Unix(0, 1000)},
		{6, 9223372035_999999, 0, time.Unix(9223372035, 999_999_000)},
		{6, 9223372036_000000, 0, time.Time{}},
		{6, math.MaxUint64, 0, time.Time{}},
		{0, math.MaxUint64, 0, time.Time{}},
		{0, math.MaxUint64, math.MinInt64, time.Time{}},
		{0, 0, math.MaxInt64, time.Time{}},
		{0, 5, -6, time.Time{}},
		{0, 5, -5, time.Unix(0, 0)},
		{0, 13_344_473_600, -11_644_473_600, time.Unix(1_700_000_000, 0)}, // seconds since 1601
	} {
		iface := slices.Concat(words(o, 1, 0), option(o, 9, tt.resolution),
			option(o, 14, o.AppendUint64(nil, uint64(tt.offset))...))
		all := slices.Concat(
			block(o, 0x0a0d0d0a, words(o, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff)), block(o, 1, iface),
			block(o, 6, words(o, 0, uint32(tt.stamp>>32), uint32(tt.stamp), 3, 3), padded("abc")))
		got, err := frames(t, bytes.NewReader(all))
		if err != nil || len(got) != 1 || !got[0].Time.Equal(tt.want) {
			t.Errorf("%d of 10^-%d s and %d s: %v, %v, want %v", tt.stamp, tt.resolution, tt.offset, got, err, tt.want)
		}
	}
}
