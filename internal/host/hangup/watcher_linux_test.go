package hangup

import (
	"testing"

	"golang.org/x/sys/unix"
)

func pipe(t *testing.T) (r, w int) {
	t.Helper()
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	return p[0], p[1]
}

func watcher(t *testing.T) *Watcher {
	t.Helper()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func TestTheEndOfTheLastReaderIsReportedOnce(t *testing.T) {
	w := watcher(t)
	r, end := pipe(t)
	defer unix.Close(end)
	told := make(chan struct{}, 2)
	if _, err := w.Add(end, func() { told <- struct{}{} }, nil); err != nil {
		t.Fatal(err)
	}
	second, err := unix.Dup(r)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(r)
	// A report of the first pipe would precede that of another pipe.
	r2, end2 := pipe(t)
	defer unix.Close(end2)
	other := make(chan struct{})
	if _, err := w.Add(end2, func() { close(other) }, nil); err != nil {
		t.Fatal(err)
	}
	unix.Close(r2)
	<-other
	if len(told) != 0 {
		t.Error("it is reported while a duplicate is open")
	}
	unix.Close(second)
	<-told
}

func TestARemovedPipeIsNotReportedForAnotherWithItsDescriptor(t *testing.T) {
	w := watcher(t)
	r, end := pipe(t)
	watch, err := w.Add(end, func() { t.Error("a removed pipe is reported") }, nil)
	if err != nil {
		t.Fatal(err)
	}
	watch.Remove()
	unix.Close(r)
	unix.Close(end)
	r, end = pipe(t)
	defer unix.Close(end)
	told := make(chan struct{})
	if _, err := w.Add(end, func() { close(told) }, nil); err != nil {
		t.Fatal(err)
	}
	unix.Close(r)
	<-told
}
