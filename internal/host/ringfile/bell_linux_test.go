package ringfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const doorbell = 32 // bytes

// rings writes a doorbell with a number.
func rings(t testing.TB, program *os.File, n uint64) {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, doorbell), n)
	if got, err := program.Write(b[:doorbell]); got != doorbell || err != nil {
		t.Error(got, err)
	}
}

// numbers returns the numbers of doorbells.
func numbers(b []byte) (out []uint64) {
	for ; len(b) >= doorbell; b = b[doorbell:] {
		out = append(out, binary.LittleEndian.Uint64(b))
	}
	return out
}

func TestDoorbellsAreReturnedOnceInTheirOrder(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	p := make([]byte, MaxDoorbells)
	next, got := uint64(0), uint64(0)
	for round := range 100 {
		for range round % 30 {
			rings(t, program, next)
			next++
		}
		b, complete := f.Doorbells(p)
		if !complete || len(b)%doorbell != 0 {
			t.Fatalf("round %d: %d bytes, complete: %v", round, len(b), complete)
		}
		for _, n := range numbers(b) {
			if n != got {
				t.Fatalf("round %d: doorbell %d, want %d", round, n, got)
			}
			got++
		}
		if got != next {
			t.Fatalf("round %d: %d doorbells, want %d", round, got, next)
		}
	}
}

// wantComplete writes a doorbell and checks whether the call is complete.
func wantComplete(t *testing.T, f *File, program *os.File, want bool) {
	t.Helper()
	rings(t, program, 7)
	b, complete := f.Doorbells(make([]byte, MaxDoorbells))
	if complete != want || complete && !bytes.Equal(firstBytes(b), firstBytes([]byte{7})) {
		t.Errorf("% x, complete: %v, want %v", b, complete, want)
	}
}

// firstBytes is the first byte of each doorbell.
func firstBytes(b []byte) (out []byte) {
	for ; len(b) > 0; b = b[min(len(b), doorbell):] {
		out = append(out, b[0])
	}
	return out
}

func TestMoreDoorbellsThanFitAreNotKnown(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	wantComplete(t, f, program, true)
	for range 2 * MaxDoorbells / doorbell {
		rings(t, program, 1)
	}
	wantComplete(t, f, program, false)
	wantComplete(t, f, program, false) // it is behind them
	wantComplete(t, f, program, true)
}

func TestDoorbellsOfAProgramThatMovesThePositionAreNotKnown(t *testing.T) {
	for name, to := range map[string]int64{"back": 0, "a little": DoorbellOffset - doorbell, "on": 1 << 50} {
		t.Run(name, func(t *testing.T) {
			f := newFile(t)
			program := programFD(t, f)
			if _, err := program.Seek(to, 0); err != nil {
				t.Fatal(err)
			}
			rings(t, program, 1)
			_, first := f.Doorbells(make([]byte, MaxDoorbells))
			rings(t, program, 2)
			_, second := f.Doorbells(make([]byte, MaxDoorbells))
			if name != "a little" && (first || second) {
				t.Errorf("known: %v, %v", first, second)
			}
			wantComplete(t, f, program, true)
			var st unix.Stat_t
			if err := unix.Fstat(int(program.Fd()), &st); err != nil || st.Blocks*512 > 4*4096 {
				t.Errorf("%d bytes are in use, %v", st.Blocks*512, err)
			}
		})
	}
}

func TestRefusedDoorbellsFailWithEINVAL(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	rings(t, program, 1) // and it has not been read
	if err := f.RefuseDoorbells(true); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n, err := program.Write(make([]byte, doorbell)); !errors.Is(err, unix.EINVAL) {
			t.Errorf("a doorbell that is refused: %d, %v", n, err)
		}
		if b, complete := f.Doorbells(make([]byte, MaxDoorbells)); complete {
			t.Errorf("% x", b)
		}
	}
	if err := f.RefuseDoorbells(false); err != nil {
		t.Fatal(err)
	}
	wantComplete(t, f, program, false) // the first one is not known either
	wantComplete(t, f, program, true)
}

func TestDoorbellsAreNotRefusedAfterDrop(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	if err := f.Drop(); err != nil {
		t.Fatal(err)
	}
	if err := f.RefuseDoorbells(true); err == nil {
		t.Error("no error")
	}
	rings(t, program, 1)
}

func TestDoorbellsAfterDropAreNotKnown(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	if err := f.Drop(); err != nil {
		t.Fatal(err)
	}
	wantComplete(t, f, program, false)
}

func TestDoorbellsOfATruncatedFileAreNotKnown(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	rings(t, program, 1)
	if err := program.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if b, complete := f.Doorbells(make([]byte, MaxDoorbells)); complete {
		t.Errorf("% x", b)
	}
}

// Each doorbell of several threads is returned, or an incomplete call follows it.
func TestNoDoorbellOfSeveralThreadsIsLost(t *testing.T) {
	t.Run("as many as fit", func(t *testing.T) {
		if incomplete := ringInThreads(t, MaxDoorbells/2/doorbell/threads); incomplete > 0 {
			t.Errorf("%d calls were not complete", incomplete)
		}
	})
	t.Run("more than fit", func(t *testing.T) { ringInThreads(t, each) })
}

const threads, each = 4, 20_000

// ringInThreads rings in several threads, each of which has up to outstanding unread doorbells.
// It returns the number of incomplete calls.
func ringInThreads(t *testing.T, outstanding int) (incomplete int) {
	f, w, h := newFile(t), newWatcher(t), newHeard()
	program := programFD(t, f)
	if err := w.Add(f, h); err != nil {
		t.Fatal(err)
	}
	var begun [threads]atomic.Uint64
	var room [threads]chan struct{}
	var all sync.WaitGroup
	for i := range room {
		room[i] = make(chan struct{}, outstanding)
		all.Go(func() {
			for n := range uint64(each) {
				room[i] <- struct{}{}
				begun[i].Store(n + 1) // before the write: it may be complete while this goroutine is preempted
				rings(t, program, uint64(i)<<32|n)
			}
		})
	}
	var known [threads][each]bool
	left, returned := threads*each, 0
	knows := func(i, n uint64) {
		if known[i][n] {
			return
		}
		known[i][n] = true
		left--
		<-room[i]
	}
	var covered [threads]uint64 // for each thread: all doorbells below this number are known
	p := make([]byte, MaxDoorbells)
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for left > 0 {
		select {
		case <-h.doorbells:
		case <-late.C:
			t.Fatalf("%d doorbells are lost", left)
		}
		b, complete := f.Doorbells(p)
		if !complete {
			incomplete++
			// A reader that now examines all queues finds the work of these doorbells.
			for i := range begun {
				for to := begun[i].Load(); covered[i] < to; covered[i]++ {
					knows(uint64(i), covered[i])
				}
			}
		}
		for _, n := range numbers(b) {
			// A doorbell that is overwritten while it is read may be inconsistent.
			if i, n := n>>32, n&0xffffffff; i < threads && n < each {
				returned++
				knows(i, n)
			}
		}
	}
	all.Wait()
	t.Logf("%d doorbells were returned, %d calls were not complete", returned, incomplete)
	return incomplete
}

func BenchmarkDoorbells(b *testing.B) {
	f, err := New("")
	if err != nil {
		b.Skipf("no tmpfs here: %v", err)
	}
	defer f.Close()
	p := make([]byte, MaxDoorbells)
	b.ReportAllocs()
	for b.Loop() {
		if _, complete := f.Doorbells(p); !complete {
			b.Fatal("not complete")
		}
	}
}
