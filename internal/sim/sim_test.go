package sim_test

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/sim"
	"github.com/gorxe/gorxe/internal/sim/capture"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
)

var seedFlag = flag.Uint64("seed", 1, "the seed that TestSeed plays")

// batches is the number of batches of seeds that run in parallel, each seed in its own world.
const batches = 16

func TestEveryPromiseHoldsUnderMixedFaults(t *testing.T) {
	seeds := uint64(320) // per batch
	switch {
	case race.Enabled:
		seeds = 8 // each world runs in one goroutine, and the race detector is fifteen times slower
	case testing.Short():
		seeds = 30
	}
	var each [batches]world.Stats
	t.Run("batches", func(t *testing.T) {
		for batch := range uint64(batches) {
			t.Run(fmt.Sprintf("from %d", batch*seeds), func(t *testing.T) {
				t.Parallel()
				all := &each[batch]
				for seed := batch * seeds; seed < (batch+1)*seeds; seed++ {
					all.Add(play(t, seed))
				}
				if all.Caught != all.Corrupted || all.Faults() == 0 {
					t.Errorf("%d packets corrupted and %d caught", all.Corrupted, all.Caught)
				}
				t.Logf("%d conversations, %d requests, %d packets, %d faults", all.Conversations, all.Requests,
					all.Packets, all.Faults())
			})
		}
	})
	var all world.Stats
	for i := range each {
		all.Add(&each[i])
	}
	if all.Kept == 0 || all.Probes == 0 {
		t.Errorf("%d requests were kept, %d probes sent: neither is tried enough", all.Kept, all.Probes)
	}
}

// shrinkOne limits shrinking to the first failure.
var shrinkOne sync.Once

// play runs a seed. If it fails, play shrinks it and reports how to repeat it.
func play(t *testing.T, seed uint64) *world.Stats {
	t.Helper()
	r := sim.Run(scenario.Generate(seed), nil)
	if r.Err != nil {
		text := fmt.Sprintf("seed %d: %v", seed, r.Err)
		shrinkOne.Do(func() { text = capture.Failure(seed, os.TempDir()) })
		t.Fatal(text)
	}
	return &r.Stats
}

// Seeds of [sim.Simple], whose scenarios stay the same.
func TestSeedsThatOnceFailed(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		why  string
	}{
		{5017147, "the rest of a SEND comes late, after it has failed and an ATOMIC_WRITE was posted"},
		{5018852, "the rest of a SEND comes late, after it has failed and a FLUSH was posted"},
	} {
		t.Run(c.why, func(t *testing.T) {
			if r := sim.Run(scenario.Simple(c.seed), nil); r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
}

// TestSeed plays the seed of the flag, to repeat a failure.
func TestSeed(t *testing.T) { play(t, *seedFlag) }
