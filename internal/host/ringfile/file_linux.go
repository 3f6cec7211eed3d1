package ringfile

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Limits of one file.
const (
	maxRing  = 1 << 30 // bytes of one ring
	maxRings = 4 << 30 // bytes of all rings
)

// ErrTooLarge reports a ring that exceeds the limits of a file.
var ErrTooLarge = errors.New("ringfile: too much memory for the rings of one file")

// A File is an anonymous file that a program shares with this process. All methods are safe for
// concurrent use, except that calls of Doorbells and RefuseDoorbells must not overlap.
type File struct {
	own  *os.File // for mapping; an open file description other than the program's
	page int      // page size in bytes
	bell bell     // state of Doorbells

	mu      sync.Mutex
	program *os.File        // open file description of the program; nil after Drop
	end     int64           // offset beyond the rings
	used    int64           // bytes of rings that are in use
	backed  int64           // bytes of used for which memory was allocated
	free    map[int][]int64 // offsets of free parts, by their length in bytes
}

// New makes a file in dir, which should be on tmpfs. "" selects the first usable one of
// $XDG_RUNTIME_DIR and /dev/shm.
func New(dir string) (*File, error) {
	dirs := []string{dir}
	if dir == "" {
		dirs = []string{"/dev/shm"}
		if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
			dirs = []string{run, "/dev/shm"}
		}
	}
	var errs []error
	for _, d := range dirs {
		f, err := newIn(d)
		if err == nil {
			return f, nil
		}
		errs = append(errs, fmt.Errorf("ringfile: a file in %s: %w", d, err))
	}
	return nil, errors.Join(errs...)
}

func newIn(dir string) (*File, error) {
	program, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	f := &File{program: program, page: os.Getpagesize(), free: map[int][]int64{}}
	if f.own, err = os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", program.Fd()), os.O_RDWR, 0); err == nil {
		var c syscall.RawConn
		if c, err = program.SyscallConn(); err == nil {
			err = f.bell.init(c)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Program calls use with the descriptor to duplicate into the program: all duplicates share the
// position at which doorbells are written. It returns [os.ErrClosed] after [File.Drop].
func (f *File) Program(use func(fd int) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.program == nil {
		return fmt.Errorf("ringfile: %w", os.ErrClosed)
	}
	return use(int(f.program.Fd()))
}

// Drop closes this process's duplicate of the program's descriptor. Only then can the [Watcher]
// detect that the program has closed its descriptors.
func (f *File) Drop() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.program == nil {
		return nil
	}
	err := f.program.Close()
	f.program = nil
	return err
}

// dropped reports whether Drop was called.
func (f *File) dropped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.program == nil
}

// Capacity returns the size in bytes of the file system that holds the file.
func (f *File) Capacity() (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(f.own.Fd()), &s); err != nil {
		return 0, fmt.Errorf("ringfile: the size of the file system: %w", err)
	}
	return s.Blocks * uint64(s.Bsize), nil
}

// Close closes the file. Rings that are in use stay mapped until they are closed.
func (f *File) Close() error {
	err := f.Drop()
	if f.own != nil {
		err = errors.Join(err, f.own.Close())
	}
	return err
}
