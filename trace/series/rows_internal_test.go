package series

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// In whichever order rows come and however often the interval doubles, the rows are in order and
// have what was counted.
func TestRowsAreInOrderWhateverTheOrderOfTheirTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rs rows
		want := map[int64]uint64{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch index := rapid.Int64Range(-20, 20).Draw(t, "index"); rapid.IntRange(0, 20).Draw(t, "action") {
			case 0:
				rs.halve()
				half := map[int64]uint64{}
				for i, n := range want {
					half[i>>1] += n
				}
				want = half
			case 1:
				var o rows
				for _, i := range []int64{index, -index, 0} {
					r, _ := o.row(i)
					r.Packets++
					want[i]++
				}
				rs.include(&o)
			case 2:
				rs.sorted()
			default:
				r, added := rs.row(index)
				if _, ok := want[index]; ok == added || r.Index != index {
					t.Fatalf("row %d: new %v, index %d", index, added, r.Index)
				}
				r.Packets++
				want[index]++
			}
		}
		var got []int64
		for _, r := range rs.sorted() {
			if got = append(got, r.Index); r.Packets != want[r.Index] {
				t.Errorf("row %d has %d packets, want %d", r.Index, r.Packets, want[r.Index])
			}
		}
		if all := slices.Sorted(maps.Keys(want)); !slices.Equal(got, all) {
			t.Errorf("rows %v, want %v", got, all)
		}
	})
}

// Packets that were not lost are taken from the row before that counted them, if that is near.
func TestSettleLooksAtNearRows(t *testing.T) {
	for _, tt := range []struct{ distance, want int64 }{{1, 0}, {maxSettled - 1, 0}, {maxSettled, 1}} {
		var rs rows
		r, _ := rs.row(tt.distance)
		r.Events.LostBefore = -1
		r, _ = rs.row(0)
		r.Events.LostBefore = 1
		rs.settle(tt.distance)
		if got := rs.find(0).Events.LostBefore; got != tt.want {
			t.Errorf("at distance %d: %d lost packets, want %d", tt.distance, got, tt.want)
		}
	}
}
