package cores

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// PerEnd returns the core of each end: those in asked, otherwise the first two that this process
// may use.
func PerEnd(asked []int) ([]int, error) {
	allowed, err := usable()
	if err != nil {
		return nil, err
	}
	return allowed.perEnd(asked)
}

// RangesPerEnd returns the cores of each end: perEnd consecutive ones, starting with that of
// [PerEnd]. If an end has several, the ends share none.
func RangesPerEnd(asked []int, perEnd int) ([2][]int, error) {
	may, err := usable()
	if err != nil {
		return [2][]int{}, err
	}
	return may.rangesPerEnd(asked, perEnd)
}

// list has the cores that this process may use, in ascending order.
type list []int

func usable() (out list, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("which cores may be used: %w", err)
	}
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			out = append(out, c)
		}
	}
	return out, nil
}

func (allowed list) check(c int) error {
	if !slices.Contains(allowed, c) {
		return fmt.Errorf("core %d may not be used: see taskset -p %d", c, os.Getpid())
	}
	return nil
}

func (allowed list) perEnd(asked []int) ([]int, error) {
	for _, c := range asked {
		if err := allowed.check(c); err != nil {
			return nil, err
		}
	}
	out := asked
	for _, c := range allowed {
		if len(out) < 2 && (len(out) == 0 || out[0] != c) {
			out = append(out, c)
		}
	}
	if len(out) == 1 {
		out = append(out, out[0])
	}
	return out, nil
}

func (allowed list) rangesPerEnd(asked []int, perEnd int) (out [2][]int, err error) {
	if len(asked) == 0 && perEnd > 1 {
		if len(allowed) < 2*perEnd {
			return out, fmt.Errorf("two ends of %d cores take %d, and this process may use %d",
				perEnd, 2*perEnd, len(allowed))
		}
		asked = []int{allowed[0], allowed[perEnd]}
	}
	first, err := allowed.perEnd(asked)
	if err != nil {
		return out, err
	}
	for end := range out {
		for c := first[end]; c < first[end]+perEnd; c++ {
			if err := allowed.check(c); err != nil {
				return out, err
			}
			if end == 1 && perEnd > 1 && slices.Contains(out[0], c) {
				return out, fmt.Errorf("%d cores from %d and %d on: both ends would have core %d",
					perEnd, first[0], first[1], c)
			}
			out[end] = append(out[end], c)
		}
	}
	return out, nil
}
