package hostmem

import (
	"sync"
	"testing"
)

// Atomics at addresses that are not multiples of 8 use no atomic instruction.
func TestAtomicsThatAreNotAlignedAddUp(t *testing.T) {
	for name, open := range kinds {
		t.Run(name, func(t *testing.T) {
			const adders, times, off = 4, 5000, 4099
			m := open(t, 8192)
			var running sync.WaitGroup
			for range adders {
				running.Go(func() {
					for range times {
						if _, err := m.FetchAddAt(off, 1); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
			if got, err := m.FetchAddAt(off, 0); err != nil || got != adders*times {
				t.Errorf("%d, %v, want %d", got, err, adders*times)
			}
		})
	}
}
