package hostmem

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
)

// Wherever the new end lies in its page, the bytes behind it are inaccessible and those before it
// are accessible.
func TestFileThatBecomesShorter(t *testing.T) {
	page := uint64(os.Getpagesize())
	for _, end := range []uint64{0, 8, 100 * 8, page - 8, page, page + 8, 3*page - 8} {
		path := fileOf(t, make([]byte, 3*page))
		m := openFile(t, path, FileOptions{})
		each(m, 3*page-8, 8, func(name string, _ bool, err error) {
			if err != nil {
				t.Errorf("%s before: %v", name, err)
			}
		})
		if err := os.Truncate(path, int64(end)); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%v %+v %#v", m, m, m); !strings.Contains(got, path) {
			t.Errorf("printed: %s", got)
		}
		for _, off := range []uint64{end, 3*page - 8, end &^ 7} {
			each(m, off, 8, func(name string, _ bool, err error) {
				if !errors.Is(err, ErrLost) {
					t.Errorf("file cut to %d: %s at %d: %v", end, name, off, err)
				}
			})
		}
		saysAll(t, m.Err(), path, "the file has", "it had")
		if end > 0 {
			each(m, end-8, 8, func(name string, _ bool, err error) {
				if err != nil {
					t.Errorf("file cut to %d: %s before its end: %v", end, name, err)
				}
			})
			if err := m.ReadAt(make([]byte, 16), end-8); !errors.Is(err, ErrLost) {
				t.Errorf("file cut to %d: read across the end: %v", end, err)
			}
		}
		if info, err := os.Stat(path); err != nil || info.Size() != int64(end) {
			t.Errorf("file cut to %d: an access made it %d bytes long, %v", end, info.Size(), err)
		}
		if err := os.Truncate(path, int64(3*page)); err != nil {
			t.Fatal(err)
		}
		each(m, 3*page-8, 8, func(name string, _ bool, err error) {
			if err != nil {
				t.Errorf("file cut to %d and grown again: %s: %v", end, name, err)
			}
		})
	}
}

func TestFileWhoseSizeChangesUnderAccesses(t *testing.T) {
	if race.Enabled {
		t.Skip("with the race detector an atomic is a call of C, in which no fault can be caught; the test runs without it")
	}
	const size = 1 << 18
	path := fileOf(t, make([]byte, size))
	m := openFile(t, path, FileOptions{})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := errors.Join(os.Truncate(path, int64(i*811)%size), os.Truncate(path, size)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	lost := 0
	for i := 0; lost < 100; i++ {
		each(m, uint64(i*4096)%size, 4096, func(name string, _ bool, err error) {
			switch {
			case errors.Is(err, ErrLost):
				lost++
			case err != nil:
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	close(stop)
	wg.Wait()
	if err := errors.Join(m.WriteAt(make([]byte, size), 0), m.Flush(0, size, true)); err != nil {
		t.Errorf("when all is quiet: %v", err)
	}
}

func TestFaultElsewhereIsNotSwallowed(t *testing.T) {
	path := fileOf(t, make([]byte, 4096))
	elsewhere := secondMapping(t, path)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	m := anonymous(t, 4096)
	func() {
		defer func() {
			if r, ok := recover().(error); !ok || !strings.Contains(r.Error(), "fault") && !strings.Contains(r.Error(),
				"invalid memory address") {
				t.Errorf("recovered %v", r)
			}
		}()
		err := m.WriteAt(elsewhere, 0)
		t.Errorf("no panic, the error is %v", err)
	}()
	if err := m.Close(); err != nil || m.users.Load() != 0 {
		t.Errorf("%d users are left, %v", m.users.Load(), err)
	}
}

func TestFaultsPanicOnlyDuringAnAccess(t *testing.T) {
	path := fileOf(t, make([]byte, 4096))
	m := openFile(t, path, FileOptions{})
	for _, size := range []int64{4096, 0} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		each(m, 0, 8, func(name string, _ bool, _ error) {
			if debug.SetPanicOnFault(false) {
				t.Errorf("file of %d bytes: %s leaves it so that any fault panics", size, name)
			}
		})
	}
}
