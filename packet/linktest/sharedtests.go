package linktest

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

// shared returns the link of e as Shared, or skips the test.
func shared(t *testing.T, e *end) packet.Shared {
	t.Helper()
	s := packet.SharedOf(e.link)
	if s == nil {
		t.Skip("the link has one receiver")
	}
	return s
}

// tryRecv tests TryRecv.
func tryRecv(t *testing.T, a, b *end) {
	s := shared(t, b)
	try := func() int {
		if err := s.TryRecv(b.in); err != nil {
			t.Fatalf("TryRecv: %v", err)
		}
		return len(b.in.Frames)
	}
	if n := try(); n != 0 {
		t.Fatalf("%d frames before anything was sent", n)
	}
	for _, size := range []int{0, 64, 1000} {
		for range 70 {
			a.put(&a.to, size, 1)
		}
		a.mustFlush()
		for end := b.got + 70; b.got < end; {
			until(t, "what was sent does not come", func() bool { return try() > 0 })
			for i := range b.in.Frames {
				if err := check(&b.in.Frames[i], b.got); err != nil {
					t.Fatal(err)
				}
				b.got++
			}
		}
		if n := try(); n != 0 {
			t.Fatalf("%d frames more than were sent", n)
		}
	}
	// Many runs: allocations of other goroutines, such as those that track neighbours, average
	// to 0.
	if n := testing.AllocsPerRun(10_000, func() { try() }); n != 0 {
		t.Errorf("%v allocations to find nothing, want 0", n)
	}
	closeLink(t, b.link)
	if err := s.TryRecv(b.in); !errors.Is(err, net.ErrClosed) {
		t.Errorf("TryRecv of a closed link: %v, want net.ErrClosed", err)
	}
}

// inTurn tests that a receiver that waits and another that polls together receive every frame, in
// order.
func inTurn(t *testing.T, a, b *end) {
	s := shared(t, b)
	const rounds, each = 100, 8
	var mu sync.Mutex
	var wrong error // guarded by mu, as are b's fields
	take := func() {
		for i := range b.in.Frames {
			if err := check(&b.in.Frames[i], b.got); err != nil && wrong == nil {
				wrong = err
			}
			b.got++
		}
	}
	var receivers sync.WaitGroup
	receivers.Go(func() {
		for s.RecvLocked(b.in, &mu) == nil {
			if mu.TryLock() {
				t.Error("RecvLocked returned without the lock")
			}
			take()
			mu.Unlock()
		}
	})
	over := make(chan struct{})
	receivers.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
			}
			if mu.TryLock() {
				if s.TryRecv(b.in) == nil {
					take()
				}
				mu.Unlock()
			}
			runtime.Gosched()
		}
	})
	for round := range rounds {
		for range each {
			a.put(&a.to, 256, 1)
		}
		a.mustFlush()
		until(t, "what was sent does not come", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return int(b.got) >= (round+1)*each
		})
	}
	close(over)
	closeLink(t, b.link)
	receivers.Wait()
	if !mu.TryLock() {
		t.Fatal("RecvLocked kept the lock with an error")
	}
	if wrong != nil {
		t.Error(wrong)
	}
}

// aside tests that a receiver that waits takes no frame while another goroutine holds the mutex.
func aside(t *testing.T, a, b *end) {
	s := shared(t, b)
	var mu sync.Mutex
	mu.Lock()
	// The first call allocates the buffers of the batch.
	if err := s.TryRecv(b.in); err != nil {
		t.Fatalf("TryRecv: %v", err)
	}
	came := make(chan error)
	go func() { came <- s.RecvLocked(b.in, &mu) }()
	a.put(&a.to, 100, 1)
	a.mustFlush()
	until(t, "what was sent does not come", func() bool {
		if err := s.TryRecv(b.in); err != nil {
			t.Fatalf("TryRecv: %v", err)
		}
		return len(b.in.Frames) > 0
	})
	if err := check(&b.in.Frames[0], 0); err != nil {
		t.Error(err)
	}
	mu.Unlock()
	a.put(&a.to, 200, 1)
	a.mustFlush()
	if err := <-came; err != nil {
		t.Fatalf("RecvLocked: %v", err)
	}
	defer mu.Unlock()
	if err := check(&b.in.Frames[0], 1); err != nil {
		t.Error(err)
	}
}
