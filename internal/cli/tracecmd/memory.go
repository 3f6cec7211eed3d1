package tracecmd

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcPercent is the GOGC of a trace, which has a small live heap and much garbage: the default
	// of 100 would cost a fifth of the time.
	gcPercent = 400
	// memoryLimit is the smallest GOMEMLIMIT of a trace in bytes: the garbage collector runs more
	// often than gcPercent says when the Go runtime uses nearly as much.
	memoryLimit = 46 << 20
	// packetRoom is added to both limits if the outputs keep little themselves, such as lines for
	// packets or flows.
	packetRoom = 3 << 20
	// liveHeap is the metric of the live heap after the latest garbage collection.
	liveHeap = "/gc/heap/live:bytes"
)

// memory adapts the garbage collector to the live heap of a trace. It leaves alone what the
// environment sets. A nil memory does nothing.
type memory struct {
	restore []func()
	room    int64 // packetRoom or 0
	limit   int64 // current GOMEMLIMIT; 0: set by the environment
	calls   int   // of adjust
	sample  [1]metrics.Sample
}

// startMemory sets GOGC and GOMEMLIMIT until stop. room is added to the limit.
func startMemory(room int64) *memory {
	m := &memory{room: room, sample: [1]metrics.Sample{{Name: liveHeap}}}
	if _, set := os.LookupEnv("GOGC"); !set {
		percent := debug.SetGCPercent(gcPercent)
		m.restore = append(m.restore, func() { debug.SetGCPercent(percent) })
	}
	if _, set := os.LookupEnv("GOMEMLIMIT"); !set {
		m.limit = memoryLimit + room
		limit := debug.SetMemoryLimit(m.limit)
		m.restore = append(m.restore, func() { debug.SetMemoryLimit(limit) })
	}
	return m
}

// stop restores the previous settings.
func (m *memory) stop() {
	for _, f := range m.restore {
		f()
	}
}

// adjustEvery is the number of calls of adjust of which one reads the metric.
const adjustEvery = 64

// adjust raises the limit if the live heap has grown: near the limit the garbage collector would
// take half of the time.
func (m *memory) adjust() {
	if m == nil || m.limit == 0 {
		return
	}
	if m.calls++; m.calls%adjustEvery != 1 {
		return
	}
	metrics.Read(m.sample[:])
	if v := m.sample[0].Value; v.Kind() == metrics.KindUint64 {
		if limit := limitFor(v.Uint64()) + m.room; limit > m.limit {
			m.limit = limit
			debug.SetMemoryLimit(limit)
		}
	}
}

// manyFlows is the live heap in bytes that a capture with 10,000 connections does not reach. Beyond
// it, time matters more than memory: with little room for garbage, each new flow of a capture in
// which flows come and go would take a millisecond.
const manyFlows = 56 << 20

// limitFor returns the limit for a live heap of n bytes: room for garbage of an eighth of its size,
// of half of its size beyond manyFlows, and 10 MiB for the memory of the runtime itself.
func limitFor(n uint64) int64 {
	n = min(n, 1<<50)
	room := n/8 + 10<<20
	if n > manyFlows {
		room = n/2 + 10<<20
	}
	return max(memoryLimit, int64(n+room))
}
