package rings_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

// mapped returns a mapping of a new file, and a function that truncates the file to n bytes.
func mapped(t *testing.T, size int) (buf []byte, truncate func(n int64)) {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "ring")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Truncate(int64(size)); err != nil {
		t.Fatal(err)
	}
	if buf, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(buf) })
	return buf, func(n int64) {
		if err := f.Truncate(n); err != nil {
			t.Fatal(err)
		}
	}
}

// A program truncates the file of a ring: to nothing, or to its header.
func TestATruncatedFileEndsItsRing(t *testing.T) {
	if race.Enabled {
		t.Skip("with the race detector an atomic is a call of C, in which no fault can be caught; the test runs without it")
	}
	for name, left := range map[string]int64{"nothing is left": 0, "the first page is left": page} {
		t.Run(name, func(t *testing.T) {
			g := shape(t, 31, 256)
			buf, truncate := mapped(t, g.Size())
			r, err := rings.NewSendRing(g, buf, rings.SendConfig{MaxSGE: 1})
			if err != nil {
				t.Fatal(err)
			}
			for p, id := (program{buf}), uint64(0); id < 31; id++ {
				p.post(send(id))
			}
			var wr qp.SendWR
			r.Fetch(&wr)
			truncate(left)
			for r.Fetch(&wr) == qp.FetchGot {
				if r.Lost() {
					t.Fatal("a request comes from a lost ring")
				}
			}
			r.Retire(1)
			if r.Reset(); !r.Lost() || r.Len() != 0 || r.Fetch(&wr) != qp.FetchNone {
				t.Errorf("lost %v, %d wait", r.Lost(), r.Len())
			}
		})
		t.Run(name+" of receives", func(t *testing.T) {
			g := shape(t, 127, 64)
			buf, truncate := mapped(t, g.Size())
			r, err := rings.NewRecvRing(g, buf,
				rings.RecvConfig{MaxSGE: 1, Shared: true, NewBuffer: buffers(&program{})})
			if err != nil {
				t.Fatal(err)
			}
			for p, id := (program{buf}), uint64(0); id < 127; id++ {
				p.post(recv(id))
			}
			truncate(left)
			if left > 0 {
				if err := r.Modify(qp.SRQAttr{MaxWR: 200}, qp.SRQMaxWR); err == nil || r.Depth() != 127 || !r.Lost() {
					t.Error("half a ring is resized")
				}
			}
			for r.Take(&qp.RecvWQE{}) {
			}
			if err := r.Modify(qp.SRQAttr{MaxWR: 200}, qp.SRQMaxWR); err == nil || !r.Lost() || r.Len() != 0 ||
				r.Depth() != 127 {
				t.Errorf("lost %v, %d wait: %v", r.Lost(), r.Len(), err)
			}
		})
		t.Run(name+" of completions", func(t *testing.T) {
			g := shape(t, 127, 64)
			buf, truncate := mapped(t, g.Size())
			r, err := rings.NewCompletionRing(g, buf, buffers(&program{}))
			if err != nil {
				t.Fatal(err)
			}
			truncate(left)
			for range 100 {
				r.Push(&qp.WC{})
			}
			r.Arm(false)
			if !r.Push(&qp.WC{}) || !r.Lost() || !r.Overflowed() || r.Len() != 0 || r.Resize(3) == nil {
				t.Errorf("lost %v, overflowed %v, length %d", r.Lost(), r.Overflowed(), r.Len())
			}
		})
	}
	g := shape(t, 3, 64)
	buf, truncate := mapped(t, g.Size())
	truncate(0)
	if _, err := rings.NewCompletionRing(g, buf, nil); err == nil {
		t.Error("a ring is made where there is no memory")
	}
	r, p := newCompletionRing(t, 3, func(rings.Geometry) ([]byte, error) { return buf, nil })
	r.Push(&qp.WC{WRID: 7})
	if err := r.Resize(2); err == nil || r.Lost() || r.Overflowed() {
		t.Errorf("a ring is resized to where there is no memory: %v, lost %v", err, r.Lost())
	}
	if wc, ok := p.poll(); !ok || host.Uint64(wc) != 7 {
		t.Errorf("polled % x", wc)
	}
}

// A panic with a cause outside the buffer is re-panicked.
func TestAPanicElsewhereIsNotHidden(t *testing.T) {
	sends, p := newSendRing(t, 3, rings.SendConfig{Datagram: true, AH: func(uint32) (qp.AH, bool) { panic("mine") }})
	p.post(send(1))
	completions, _ := newCompletionRing(t, 3, nil)
	for name, f := range map[string]func(){
		"a lookup":       func() { sends.Fetch(&qp.SendWR{}) },
		"a nil argument": func() { completions.Push(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil || sends.Lost() || completions.Lost() {
					t.Errorf("%s: no panic, or a ring is lost", name)
				}
			}()
			f()
		}()
	}
}
