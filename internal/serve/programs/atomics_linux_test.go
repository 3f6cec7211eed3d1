//go:build linux && (amd64 || arm64)

package programs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/mr"
	"golang.org/x/sys/unix"
)

// counter is a word of the program whose address the host gets.
var counter atomic.Uint64

// programThatOpensTwice opens the device twice, reports the address of its counter, and finally
// the value.
func programThatOpensTwice() error {
	for range 2 {
		if _, _, err := openDevice(); err != nil {
			return err
		}
	}
	fmt.Printf("%d\n", uintptr(unsafe.Pointer(&counter)))
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	fmt.Println(counter.Load())
	return nil
}

// programThatExecutes opens the device and then executes programThatOpensTwice.
func programThatExecutes() error {
	if _, _, err := openDevice(); err != nil {
		return err
	}
	return errors.Join(os.Setenv(programVariable, "twice"),
		unix.Exec("/proc/self/exe", []string{"twice"}, os.Environ()))
}

func TestAtomicsThroughTwoOpensOfAProcessAreAtomic(t *testing.T) {
	for i, name := range []string{"twice", "image"} { // also after execve
		t.Run(name, func(t *testing.T) {
			h := hostOn(t, "127.55.15."+strconv.Itoa(33+i))
			_, in, out := startOwn(t, h, name)
			lines := bufio.NewReader(out)
			addr := number(t, lines)
			const each = 20_000
			var all sync.WaitGroup
			for _, s := range spaces(t, h, 2) {
				m, err := s.Register(addr, 8, mr.LocalWrite|mr.RemoteAtomic)
				if err != nil {
					t.Fatal(err)
				}
				word, ok := m.(mr.AtomicMemory)
				if !ok {
					t.Fatalf("%T has no atomics", m)
				}
				all.Go(func() {
					for range each {
						if _, err := word.FetchAddAt(0, 1); err != nil {
							t.Error(err)
							return
						}
					}
				})
				t.Cleanup(func() { m.(io.Closer).Close() })
			}
			all.Wait()
			in.Close()
			if got := number(t, lines); got != 2*each {
				t.Errorf("the program counts %d, want %d", got, 2*each)
			}
		})
	}
}

// number reads a line with a number.
func number(t *testing.T, r *bufio.Reader) uint64 {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// spaces returns the memory of all opens, once there are n.
func spaces(t *testing.T, h *Host, n int) (out []*space) {
	t.Helper()
	until(t, "the opens of an earlier program have ended", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		out = nil
		for _, o := range h.opens {
			out = append(out, o.space)
		}
		return len(out) == n
	})
	return out
}
