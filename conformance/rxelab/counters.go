package rxelab

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// counters returns rxe's counters of the lane, nil if they cannot be read: they only help to
// explain a failure.
func (l cellLane) counters(ctx context.Context) map[string]int {
	files, err := l.Session.ReadFiles(ctx, "/sys/class/infiniband/"+l.Rxe.Device+"/ports/1/hw_counters/*")
	if err != nil {
		return nil
	}
	out := map[string]int{}
	for name, text := range files {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && path.Base(name) != "lifespan" {
			out[path.Base(name)] = n
		}
	}
	return out
}

// moved returns the counters that have changed, with their increase.
func moved(before, after map[string]int) map[string]int {
	d := map[string]int{}
	for name, n := range after {
		if n != before[name] {
			d[name] = n - before[name]
		}
	}
	return d
}

func formatCounters(c map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%s %+d\n", name, c[name])
	}
	return b.String()
}
