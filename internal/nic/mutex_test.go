package nic

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

func TestAMutexThatWasWaitedForInVainIsNotWaitedForUntilItWasFree(t *testing.T) {
	var m mutex
	m.Lock()
	if m.lockWithin(time.Nanosecond) {
		t.Fatal("the lock was taken twice")
	}
	if m.lockWithin(time.Hour) {
		t.Fatal("the lock was taken twice")
	}
	m.Unlock()
	for m.timedOut.Load() { // the goroutine that still waits gets the lock and releases it
		runtime.Gosched()
	}
	if !m.lockWithin(time.Hour) {
		t.Fatal("a lock that is free was not taken")
	}
	m.Unlock()
}

// With a time limit that often expires just when the lock becomes free.
func TestAMutexHasOneHolder(t *testing.T) {
	const rounds = 2000
	var m mutex
	var n, want int
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for round := range rounds {
				if i == 0 {
					m.Lock()
				} else if !m.lockWithin(time.Duration(round) * time.Nanosecond) {
					continue
				}
				n++
				runtime.Gosched()
				want++
				m.Unlock()
			}
		})
	}
	all.Wait()
	m.Lock()
	defer m.Unlock()
	if n != want || n < rounds {
		t.Errorf("%d and %d rounds, at least %d expected", n, want, rounds)
	}
}
