package ringfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Events are the callbacks of a [Watcher]. They run in its goroutine and must not block for long.
type Events interface {
	// Doorbell is called after the program has written to the file, once for several writes that
	// are close together. After a call of Doorbell, some goroutine must call [File.Doorbells]. One
	// such call may follow several calls of Doorbell.
	Doorbell()
	// Released is called once, when the last descriptor of the program is closed after
	// [File.Drop].
	Released()
}

// A Watcher reports the doorbells and the release of any number of files. All methods are safe
// for concurrent use.
type Watcher struct {
	inotify *os.File
	done    chan struct{} // closed when the goroutine has ended

	mu    sync.Mutex
	files map[int32]watched
}

type watched struct {
	file   *File
	events Events
}

// NewWatcher starts a watcher; Close stops it.
func NewWatcher() (*Watcher, error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("ringfile: inotify: %w", err)
	}
	w := &Watcher{inotify: os.NewFile(uintptr(fd), "inotify"), done: make(chan struct{}), files: map[int32]watched{}}
	go w.run()
	return w, nil
}

// Add starts the reports of f.
func (w *Watcher) Add(f *File, e Events) error {
	w.mu.Lock() // held until files has the watch, because its first event may arrive immediately
	defer w.mu.Unlock()
	var wd int
	err := w.control(func(fd int) (err error) {
		wd, err = unix.InotifyAddWatch(fd, fmt.Sprintf("/proc/self/fd/%d", f.own.Fd()),
			unix.IN_MODIFY|unix.IN_CLOSE_WRITE)
		return err
	})
	if err != nil {
		return fmt.Errorf("ringfile: inotify: %w", err)
	}
	w.files[int32(wd)] = watched{f, e}
	return nil
}

// Remove ends the reports of f. A call of its Events may still be running.
func (w *Watcher) Remove(f *File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for wd, x := range w.files {
		if x.file == f {
			w.remove(wd)
		}
	}
}

func (w *Watcher) remove(wd int32) {
	delete(w.files, wd)
	// An error means that the kernel has already removed the watch.
	_ = w.control(func(fd int) error {
		_, err := unix.InotifyRmWatch(fd, uint32(wd))
		return err
	})
}

func (w *Watcher) control(f func(fd int) error) error {
	c, err := w.inotify.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	err = c.Control(func(fd uintptr) { ferr = f(int(fd)) })
	return errors.Join(err, ferr)
}

// Close stops the watcher. No callback runs after it returns.
func (w *Watcher) Close() error {
	err := w.inotify.Close()
	<-w.done
	return err
}

func (w *Watcher) run() {
	defer close(w.done)
	var b [64 * unix.SizeofInotifyEvent]byte
	for {
		n, err := w.inotify.Read(b[:])
		if err != nil {
			return
		}
		// The events carry no names, because files are watched, not directories.
		for e := b[:n]; len(e) >= unix.SizeofInotifyEvent; e = e[unix.SizeofInotifyEvent:] {
			w.report(int32(binary.NativeEndian.Uint32(e)), binary.NativeEndian.Uint32(e[4:]))
		}
	}
}

func (w *Watcher) report(wd int32, mask uint32) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		for _, x := range w.all() {
			x.events.Doorbell()
		}
		return
	}
	w.mu.Lock()
	x, known := w.files[wd]
	over := known && mask&unix.IN_CLOSE_WRITE != 0 && x.file.dropped()
	if over {
		w.remove(wd)
	}
	w.mu.Unlock()
	switch {
	case !known:
	case over:
		x.events.Released()
	case mask&unix.IN_MODIFY != 0:
		x.events.Doorbell()
	}
}

func (w *Watcher) all() (out []watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.files {
		out = append(out, x)
	}
	return out
}
