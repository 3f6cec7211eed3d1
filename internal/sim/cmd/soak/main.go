// Soak plays seeds of the simulation for a given time.
//
//	go run ./internal/sim/cmd/soak -duration 10m
//
// If a seed violates a rule, soak exits with status 1, prints a report with the seed, and writes
// a capture of the smallest failing run to the directory given by -dir.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/internal/sim"
	"github.com/gorxe/gorxe/internal/sim/capture"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
)

// soak is the state that the workers share.
type soak struct {
	next     atomic.Uint64 // seed
	end      time.Time
	goal     uint64 // conversations to play; 0: no limit
	dir      string
	mu       sync.Mutex // guards the fields below
	all      world.Stats
	seeds    uint64
	failures int
}

func main() {
	duration := flag.Duration("duration", time.Minute, "`duration` to play")
	first := flag.Uint64("seed", uint64(time.Now().UnixNano())>>16, "first seed")
	goal := flag.Uint64("conversations", 0, "stop earlier, after this `number` of conversations")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "`number` of seeds played at a time")
	dir := flag.String("dir", os.TempDir(), "`directory` for captures of failures")
	flag.Parse()

	begin := time.Now()
	s := &soak{end: begin.Add(*duration), goal: *goal, dir: *dir}
	s.next.Store(*first)
	var wg sync.WaitGroup
	for range *workers {
		wg.Go(s.work)
	}
	wg.Wait()
	s.report(*first, time.Since(begin))
	if s.failures > 0 {
		os.Exit(1)
	}
}

// work plays seeds until the time is over or the goal is reached.
func (s *soak) work() {
	for time.Now().Before(s.end) {
		seed := s.next.Add(1) - 1
		r := sim.Run(scenario.Generate(seed), nil)
		text := ""
		if r.Err != nil {
			text = capture.Failure(seed, s.dir)
		}
		s.mu.Lock()
		s.all.Add(&r.Stats)
		s.seeds++
		done := s.goal > 0 && s.all.Conversations >= s.goal
		if r.Err != nil {
			s.failures++
			fmt.Println(text)
		}
		s.mu.Unlock()
		if done {
			return
		}
	}
}

// report prints the totals.
func (s *soak) report(first uint64, took time.Duration) {
	a := &s.all
	fmt.Printf("seeds          %d, from %d on, %.0f a second in %v\n", s.seeds, first, float64(s.seeds)/took.Seconds(),
		took.Round(time.Second))
	fmt.Printf("conversations  %d, in %v of virtual time\n", a.Conversations,
		time.Duration(a.Virtual).Round(time.Second))
	fmt.Printf("requests       %d posted; %d completions, %d of them with an error that was provoked\n", a.Requests,
		a.Completions, a.Errors)
	fmt.Printf("events         %d\n", events(a))
	fmt.Printf("multicasts     %d received\n", a.Multicasts)
	fmt.Printf("overflows      %d CQs, %d completions lost\n", a.Overflows, a.Lost)
	fmt.Printf("packets        %d, %d MB\n", a.Packets, a.Bytes/1_000_000)
	fmt.Printf("faults         %d: %d lost, %d repeated, %d late, %d corrupt (%d caught), %d into a dead link\n",
		a.Faults(), a.Dropped, a.Duplicated, a.Delayed, a.Corrupted, a.Caught, a.Unreachable)
	fmt.Printf("violations     %d\n", s.failures)
}

// events returns the total number of asynchronous events.
func events(a *world.Stats) (n uint64) {
	for _, k := range a.Events {
		n += k
	}
	return n
}
