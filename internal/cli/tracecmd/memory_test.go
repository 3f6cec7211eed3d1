package tracecmd

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestTheMemoryLimitGrowsWithTheLiveHeap(t *testing.T) {
	last := int64(0)
	for _, n := range []uint64{0, 1 << 20, 20 << 20, 60 << 20, 1 << 30, 1 << 40} {
		limit := limitFor(n)
		if limit < last || limit < memoryLimit || uint64(limit) < n+n/8 {
			t.Errorf("live heap %d: limit %d after %d", n, limit, last)
		}
		last = limit
	}
	if limitFor(20<<20) != memoryLimit {
		t.Errorf("a live heap of 20 MiB has a limit of %d", limitFor(20<<20))
	}
	if limit := limitFor(100 << 20); limit < 150<<20 {
		t.Errorf("a live heap of 100 MiB has a limit of %d: the collector would run all the time", limit)
	}
}

func TestTheGarbageCollectorIsRestored(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if v, set := os.LookupEnv(name); set {
			t.Skipf("%s=%s is set", name, v)
		}
	}
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(1<<40)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	m := startMemory(packetRoom)
	m.adjust()
	if got := debug.SetMemoryLimit(-1); got < memoryLimit+packetRoom || got >= 1<<40 {
		t.Errorf("limit %d during a trace", got)
	}
	m.stop()
	if p, l := debug.SetGCPercent(77), debug.SetMemoryLimit(-1); p != 77 || l != 1<<40 {
		t.Errorf("GOGC %d, limit %d afterwards", p, l)
	}
	(*memory)(nil).adjust()
}
