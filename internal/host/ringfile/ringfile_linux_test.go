package ringfile

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func newFile(t *testing.T) *File {
	t.Helper()
	f, err := New("")
	if err != nil {
		t.Skipf("no tmpfs here: %v", err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// programFD returns a duplicate of the program's descriptor, like those from SCM_RIGHTS or
// SECCOMP_IOCTL_NOTIF_ADDFD.
func programFD(t *testing.T, f *File) *os.File {
	t.Helper()
	var out *os.File
	err := f.Program(func(fd int) error {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		out = os.NewFile(uintptr(n), "program")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return out
}

// heard counts events.
type heard struct{ doorbells, released chan struct{} }

func newHeard() *heard { return &heard{make(chan struct{}, 1<<16), make(chan struct{}, 16)} }

func (h *heard) Doorbell() { h.doorbells <- struct{}{} }
func (h *heard) Released() { h.released <- struct{}{} }

func newWatcher(t *testing.T) *Watcher {
	t.Helper()
	w, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// Go sends SIGURG to its own threads to preempt goroutines, and SIGPROF and SIGCHLD reach any
// thread. Before Linux 6.9 any of them interrupts fallocate.
func TestSignalsDoNotKeepARingFromGettingMemory(t *testing.T) {
	f := newFile(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	thread := unix.Gettid()
	stop, ended := make(chan struct{}), make(chan error, 1)
	defer func() {
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	go func() {
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-stop:
				ended <- nil
				return
			case <-every.C:
			}
			if err := unix.Tgkill(unix.Getpid(), thread, unix.SIGURG); err != nil {
				ended <- err
				return
			}
		}
	}()
	for range 4 {
		r, err := f.Map(48 << 20)
		if errors.Is(err, unix.ENOSPC) {
			t.Skipf("too little room on tmpfs: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestBothSidesSeeTheBytesOfARing(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	for _, size := range []int{1, 4096, 4097} {
		r, err := f.Map(size)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Bytes)%os.Getpagesize() != 0 || len(r.Bytes) < size || r.Offset%uint64(os.Getpagesize()) != 0 {
			t.Errorf("a ring for %d bytes has %d at %#x", size, len(r.Bytes), r.Offset)
		}
		theirs, err := unix.Mmap(int(program.Fd()), int64(r.Offset), len(r.Bytes), unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		theirs[size-1], r.Bytes[0] = 7, 9
		if size > 1 && (r.Bytes[size-1] != 7 || theirs[0] != 9) {
			t.Error("the sides see other bytes")
		}
		if err := errors.Join(unix.Munmap(theirs), r.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestARingIsZeroAlsoWhereAnotherOneWas(t *testing.T) {
	f := newFile(t)
	first, err := f.Map(8192)
	if err != nil {
		t.Fatal(err)
	}
	for i := range first.Bytes {
		first.Bytes[i] = 0xff
	}
	at := first.Offset
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := f.Map(8192)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if second.Offset != at || !bytes.Equal(second.Bytes, make([]byte, 8192)) {
		t.Errorf("the second ring is at %#x, the first was at %#x; zero: %v", second.Offset, at,
			bytes.Equal(second.Bytes, make([]byte, 8192)))
	}
}

func TestRingsAreLimited(t *testing.T) {
	f := newFile(t)
	for _, size := range []int{0, -1, maxRing + 1} {
		if r, err := f.Map(size); !errors.Is(err, ErrTooLarge) {
			t.Errorf("a ring of %d bytes: %v, %v", size, r, err)
		}
	}
	f.used = maxRings - 4096
	if _, err := f.Map(4097); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a ring beyond all of them: %v", err)
	}
	r, err := f.Map(4096)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
}

func TestAFullFileSystemRefusesARing(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a small tmpfs takes root: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	f, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Map(1 << 20); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a ring larger than the file system: %v", err)
	}
	r, err := f.Map(32 << 10)
	if err != nil {
		t.Fatalf("what was refused still takes memory: %v", err)
	}
	r.Close()
}

func TestAWriteOfTheProgramIsADoorbell(t *testing.T) {
	f, w, h := newFile(t), newWatcher(t), newHeard()
	program := programFD(t, f)
	r, err := f.Map(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := w.Add(f, h); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if n, err := program.Write(make([]byte, 32)); n != 32 || err != nil {
			t.Fatal(n, err)
		}
		<-h.doorbells
		if _, complete := f.Doorbells(make([]byte, MaxDoorbells)); !complete {
			t.Fatal("a doorbell is not known")
		}
	}
	if !bytes.Equal(r.Bytes, make([]byte, len(r.Bytes))) {
		t.Error("a doorbell was written into a ring")
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(program.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if pages := st.Blocks * 512 / int64(os.Getpagesize()); pages > 2 {
		t.Errorf("a ring of one page and 1,000 doorbells take %d pages", pages)
	}
}

func TestTheEndOfTheProgramIsReportedOnceAfterDrop(t *testing.T) {
	f, w, h := newFile(t), newWatcher(t), newHeard()
	one, two := programFD(t, f), programFD(t, f)
	if err := w.Add(f, h); err != nil {
		t.Fatal(err)
	}
	one.Close()
	if err := f.Drop(); err != nil {
		t.Fatal(err)
	}
	// The last descriptor still rings.
	if _, err := two.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-h.doorbells
	select {
	case <-h.released:
		t.Fatal("released while a descriptor is open")
	default:
	}
	two.Close()
	<-h.released
	if err := f.Program(func(int) error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the program's descriptor after Drop: %v", err)
	}
}

func TestAProgramThatEndedBeforeDropIsReportedByDrop(t *testing.T) {
	f, w, h := newFile(t), newWatcher(t), newHeard()
	program := programFD(t, f)
	if err := w.Add(f, h); err != nil {
		t.Fatal(err)
	}
	program.Close()
	if err := f.Drop(); err != nil {
		t.Fatal(err)
	}
	<-h.released
}

func TestAWatcherReportsNothingAfterRemoveAndClose(t *testing.T) {
	f, h := newFile(t), newHeard()
	w, err := NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	program := programFD(t, f)
	if err := w.Add(f, h); err != nil {
		t.Fatal(err)
	}
	w.Remove(f)
	program.Write([]byte("x"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if len(h.doorbells) != 0 {
		t.Errorf("%d doorbells after Remove", len(h.doorbells))
	}
	if err := w.Add(f, h); err == nil {
		t.Error("a file was added after Close")
	}
}
