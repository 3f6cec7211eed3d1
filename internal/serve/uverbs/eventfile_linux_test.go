package uverbs

import (
	"os"
	"runtime"
	"testing"

	"github.com/gorxe/gorxe/internal/host/hangup"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// quiet returns when the writer has nothing to do.
func (w *eventWriter) quiet() {
	for idle := make(chan bool, 1); ; runtime.Gosched() {
		w.do(func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			idle <- w.first == nil
		})
		if <-idle {
			return
		}
	}
}

// newFile returns a watched event file, and the end of the program.
func newFile(t testing.TB, size int) (*eventFile, *os.File) {
	t.Helper()
	h, err := hangup.New()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	w := newEventWriter(done, func() {})
	e, theirs, err := newEventFile(w, size)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.onHangup(h, func() {}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		theirs.Close()
		e.close()
		w.quiet()
		close(done)
		w.stop()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, theirs
}

// readAll reads the contents of the pipe, and what is written meanwhile.
func readAll(t testing.TB, e *eventFile, theirs *os.File) (records int) {
	t.Helper()
	fd := int(theirs.Fd())
	for {
		e.writer.quiet()
		n, err := unix.IoctlGetInt(fd, unix.TIOCINQ)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return records
		}
		for range n / e.size {
			nextRecord(t, fd, e.size)
			records++
		}
	}
}

func TestEventsOfAProgramThatReadsNoneAreBounded(t *testing.T) {
	for name, pipe := range map[string]int{"small pipe": 4096, "large pipe": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			e, theirs := newFile(t, asyncRecord)
			// The program may do that too.
			if _, err := unix.FcntlInt(theirs.Fd(), unix.F_SETPIPE_SZ, pipe); err != nil {
				t.Fatal(err)
			}
			const kinds = 2
			var all [3]source
			for i := range 10_000 {
				for n := range all {
					e.push(record{&all[n], verbs.EventType(i % kinds)})
				}
			}
			got := readAll(t, e, theirs)
			if most := 2 * (maxUnread + kinds*len(all)); got > most || got < kinds*len(all) {
				t.Errorf("%d records were kept, want up to %d", got, most)
			}
			// An event after that is delivered, and all that were read count.
			for n := range all {
				e.push(record{&all[n], 0})
			}
			got += readAll(t, e, theirs)
			read := 0
			for n := range all {
				read += int(e.withdraw(&all[n]))
			}
			if read != got {
				t.Errorf("%d records are reported as read, want %d", read, got)
			}
		})
	}
}

// A program that reads each event of a queue and then requests the next one gets each event, even
// beside queues whose events are not read.
func TestAnEventIsNotDroppedAfterAnEqualOneWasRead(t *testing.T) {
	e, theirs := newFile(t, compRecord)
	var idle, used source
	used.handle = 1
	for range 5 * maxUnread {
		e.push(record{from: &idle})
	}
	readAll(t, e, theirs)
	for range 3 * maxUnread {
		e.push(record{from: &used})
		if b := nextRecord(t, int(theirs.Fd()), compRecord); b[0] != 1 {
			t.Fatalf("record % x", b)
		}
	}
	if n := e.withdraw(&used); n != 3*maxUnread {
		t.Errorf("%d records are reported as read, want %d", n, 3*maxUnread)
	}
}

func TestRecordsOfOthersStayWhenThoseOfASourceAreWithdrawn(t *testing.T) {
	e, theirs := newFile(t, asyncRecord)
	var a, b source
	a.handle, b.handle = 1, 2
	for i := range 100 {
		e.push(record{&a, verbs.EventType(i % 3)})
		e.push(record{&b, verbs.EventType(i % 5)})
	}
	e.writer.quiet()
	first := nextRecord(t, int(theirs.Fd()), asyncRecord)
	if n := e.withdraw(&a); n != 1 || first[0] != 1 {
		t.Errorf("%d records are reported as read after % x", n, first)
	}
	for i := range 100 {
		r := nextRecord(t, int(theirs.Fd()), asyncRecord)
		if r[0] != 2 || int(r[8]) != i%5 {
			t.Fatalf("record %d is % x", i, r)
		}
	}
	if n := e.withdraw(&b); n != 100 {
		t.Errorf("%d records are reported as read, want 100", n)
	}
}

func TestPushingAnEventAllocatesNothing(t *testing.T) {
	e, theirs := newFile(t, compRecord)
	var s source
	fd, b := int(theirs.Fd()), make([]byte, compRecord)
	one := func() {
		e.push(record{from: &s})
		if n, err := unix.Read(fd, b); n != compRecord || err != nil {
			t.Fatal(n, err)
		}
	}
	for range 2 * maxUnread {
		one()
	}
	if n := testing.AllocsPerRun(2*maxUnread, one); n > 0 {
		t.Errorf("%v allocations per event", n)
	}
}

func BenchmarkEvent(b *testing.B) {
	e, theirs := newFile(b, compRecord)
	var s source
	fd, buf := int(theirs.Fd()), make([]byte, compRecord)
	b.ReportAllocs()
	for b.Loop() {
		e.push(record{from: &s})
		if _, err := unix.Read(fd, buf); err != nil {
			b.Fatal(err)
		}
	}
}
