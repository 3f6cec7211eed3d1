package cores

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestAnEndHasTheCoreThatIsAskedForOrTheFirstOne(t *testing.T) {
	all, err := PerEnd(nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	asked := []int{all[1], all[0]}
	if got, err := PerEnd(asked); err != nil || !slices.Equal(got, asked) {
		t.Errorf("%v, %v; want %v", got, err, asked)
	}
	for _, c := range []int{-1, 1023, 1 << 20} {
		if _, err := PerEnd([]int{c, all[0]}); err == nil || !strings.Contains(err.Error(), "may not be used") {
			t.Errorf("core %d: %v", c, err)
		}
	}
}

func TestEndsWithSeveralCoresShareNone(t *testing.T) {
	eight := list{0, 1, 2, 3, 4, 5, 6, 7}
	for _, tt := range []struct {
		name   string
		may    list
		asked  []int
		perEnd int
		want   [2][]int
		err    string
	}{
		{"one core each", eight, nil, 1, [2][]int{{0}, {1}}, ""},
		{"one core for both", list{3}, nil, 1, [2][]int{{3}, {3}}, ""},
		{"the first four and the next", eight, nil, 4, [2][]int{{0, 1, 2, 3}, {4, 5, 6, 7}}, ""},
		{"from two on", eight, []int{4, 1}, 3, [2][]int{{4, 5, 6}, {1, 2, 3}}, ""},
		{"too many", eight, nil, 5, [2][]int{}, "two ends of 5 cores take 10, and this process may use 8"},
		{"behind the last", eight, []int{0, 6}, 3, [2][]int{}, "core 8 may not be used"},
		{"in common", eight, []int{0, 2}, 3, [2][]int{}, "3 cores from 0 and 2 on: both ends would have core 2"},
		{"in a gap", list{0, 1, 4, 5, 6}, nil, 2, [2][]int{{0, 1}, {4, 5}}, ""},
		{"over a gap", list{0, 1, 4, 5}, []int{1, 4}, 2, [2][]int{}, "core 2 may not be used"},
	} {
		got, err := tt.may.rangesPerEnd(tt.asked, tt.perEnd)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, %v; want %q", tt.name, got, err, tt.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}
