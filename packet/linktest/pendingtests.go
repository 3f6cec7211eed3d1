package linktest

import (
	"runtime"
	"testing"
	"time"

	"github.com/gorxe/gorxe/packet"
)

// pending tests the results of Pending of link b.
func pending(t *testing.T, a, b *end) {
	p, ok := b.link.(packet.PendingReporter)
	if !ok {
		t.Skip("the link cannot tell")
	}
	if p.Pending() {
		t.Error("pending before anything was sent")
	}
	for _, size := range []int{0, 1000} {
		a.put(&a.to, size, 1)
		a.mustFlush()
		until(t, "a frame that waits is not pending", p.Pending)
		b.expect()
		if !p.Pending() {
			t.Error("a frame that was taken is not pending although the receiver has not come back")
		}
		// The receiver calls Recv again, and waits for the next frame.
		came := make(chan error)
		go func() {
			_, err := b.recv()
			came <- err
		}()
		until(t, "pending although the receiver waits for more", func() bool { return !p.Pending() })
		a.put(&a.to, 10, 1)
		a.mustFlush()
		if err := <-came; err != nil {
			t.Fatalf("Recv: %v", err)
		}
		b.got++
	}
	if n := testing.AllocsPerRun(100, func() { p.Pending() }); n != 0 {
		t.Errorf("%v allocations to ask, want 0", n)
	}
	if closeLink(t, b.link); p.Pending() {
		t.Error("a closed link is pending")
	}
}

// until waits until ok returns true. After a minute it fails the test with the message wrong.
func until(t *testing.T, wrong string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal(wrong)
		}
	}
}
