package procmem

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

// fake is memory of 100 bytes at address 1000. The steps describe the results of its calls in
// order; further calls succeed.
type fake struct {
	b     [100]byte
	steps []step
	calls []string
}

type step struct {
	most int // bytes
	err  error
}

const fakeAddr = 1000

func (f *fake) call(name string, copyBytes func(at []byte, most int) int, addr uint64, all int) (int, error) {
	f.calls = append(f.calls, fmt.Sprintf("%s %d+%d", name, addr-fakeAddr, all))
	most := all
	if len(f.steps) > 0 {
		s := f.steps[0]
		f.steps = f.steps[1:]
		if s.err != nil {
			return -1, s.err
		}
		most = min(most, s.most)
	}
	return copyBytes(f.b[addr-fakeAddr:], most), nil
}

func (f *fake) read(p []byte, addr uint64) (int, error) {
	return f.call("read", func(at []byte, most int) int { return copy(p[:most], at) }, addr, len(p))
}

func (f *fake) write(p []byte, addr uint64) (int, error) {
	return f.call("write", func(at []byte, most int) int { return copy(at, p[:most]) }, addr, len(p))
}

func fakeRegion(steps ...step) (*fake, *Region) {
	f := &fake{steps: steps}
	s := &AddressSpace{pid: 1, mem: f, atomics: &Atomics{}}
	s.users.Store(2)
	return f, &Region{space: s, addr: fakeAddr, size: 100}
}

const text = "a transfer in parts"

func parts() [][]byte {
	return [][]byte{[]byte(text[:4]), {}, []byte(text[4:12]), []byte(text[12:]), nil}
}

// piecesAt returns adjacent pieces, the first at off.
func piecesAt(b [][]byte, off uint64) (pieces []mr.Piece) {
	for _, p := range b {
		pieces = append(pieces, mr.Piece{Off: off, Data: p})
		off += uint64(len(p))
	}
	return pieces
}

// writeAll stores the slices of b adjacently, the first at off.
func writeAll(r *Region, b [][]byte, off uint64) error {
	n, err := r.WritePieces(piecesAt(b, off))
	if err == nil && n != len(b) {
		err = fmt.Errorf("%d of %d pieces are stored, and no error", n, len(b))
	}
	return err
}

func TestShortAndInterruptedCallsAreContinued(t *testing.T) {
	for _, steps := range [][]step{
		nil,
		{{1, nil}}, {{4, nil}}, {{5, nil}}, {{12, nil}}, {{len(text) - 1, nil}},
		{{0, syscall.EINTR}}, {{3, nil}, {0, syscall.EINTR}, {2, nil}, {0, syscall.EINTR}, {1, nil}},
		{{1, nil}, {1, nil}, {1, nil}, {1, nil}, {1, nil}, {1, nil}, {1, nil}, {1, nil}},
	} {
		for name, write := range map[string]func(*Region) error{
			"write":        func(r *Region) error { return r.WriteAt([]byte(text), 7) },
			"write pieces": func(r *Region) error { return writeAll(r, parts(), 7) },
			"write final":  func(r *Region) error { return r.WriteFinalAt([]byte(text), 7) },
		} {
			f, r := fakeRegion(steps...)
			if err := write(r); err != nil || string(f.b[7:7+len(text)]) != text || f.b[6] != 0 ||
				f.b[7+len(text)] != 0 {
				t.Errorf("%s with %v: %q, %v", name, steps, f.b[:], err)
			}
		}
		f, r := fakeRegion(steps...)
		copy(f.b[7:], text)
		f.steps = steps
		whole := make([]byte, len(text))
		if err := r.ReadAt(whole, 7); err != nil || string(whole) != text {
			t.Errorf("read with %v: %q, %v", steps, whole, err)
		}
	}
}

func TestFailureNamesTheFirstByteThatIsMissing(t *testing.T) {
	for _, c := range []struct {
		end  step
		kind Kind
	}{
		{step{0, syscall.EIO}, Inaccessible},
		{step{0, nil}, Gone},
		{step{0, syscall.ENOMEM}, System},
		{step{0, syscall.EFAULT}, System},
	} {
		for done := range len(text) {
			for name, access := range map[string]func(*Region) error{
				"read":         func(r *Region) error { return r.ReadAt(make([]byte, len(text)), 7) },
				"write":        func(r *Region) error { return r.WriteAt([]byte(text), 7) },
				"write pieces": func(r *Region) error { return writeAll(r, parts(), 7) },
			} {
				_, r := fakeRegion(step{done, nil}, c.end)
				if done == 0 {
					_, r = fakeRegion(c.end)
				}
				var e *Error
				err := access(r)
				if !errors.As(err, &e) || e.Kind != c.kind || e.At != fakeAddr+7+uint64(done) || e.Addr != fakeAddr+7 ||
					e.Length != uint64(len(text)) {
					t.Errorf("%s, %v after %d bytes: %v at %d", name, c.end, done, err, e.At-fakeAddr)
				}
				if c.end.err != nil && !errors.Is(err, c.end.err) || r.Err() != err {
					t.Errorf("%s: %v without the error of the call, or not kept", name, err)
				}
			}
		}
	}
}

func TestEndOfAMessageIsStoredInAlignedPieces(t *testing.T) {
	for _, c := range []struct {
		off, n int
		want   string
	}{
		{0, 1, "0+1"},
		{0, 8, "0+8"},
		{8, 24, "8+16 24+8"},
		{0, 13, "0+5 5+1 6+2 8+4 12+1"},
		{4, 8, "4+4 8+4"},
		{1, 6, "1+1 2+2 4+2 6+1"},
		{2, 6, "2+2 4+4"},
		{7, 2, "7+1 8+1"},
		{3, 9, "3+1 4+4 8+4"},
		{0, 0, ""},
	} {
		f, r := fakeRegion()
		if err := r.WriteFinalAt(bytes.Repeat([]byte{1}, c.n), uint64(c.off)); err != nil {
			t.Fatal(err)
		}
		if got := strings.ReplaceAll(strings.Join(f.calls, " "), "write ", ""); got != c.want {
			t.Errorf("%d bytes at %d: %s, want %s", c.n, c.off, got, c.want)
		}
		if got := bytes.Count(f.b[c.off:c.off+c.n], []byte{1}); got != c.n || bytes.Count(f.b[:], []byte{1}) != c.n {
			t.Errorf("%d bytes at %d: %v", c.n, c.off, f.b[:])
		}
	}
}

func TestLongTransferIsSplitAtThePageBorder(t *testing.T) {
	for _, c := range []struct{ addr, n, want uint64 }{
		{0, 1, 1}, {1, 1, 1}, {1, alignedFrom - 1, alignedFrom - 1}, {1, alignedFrom, pageSize - 1},
		{pageSize - 1, 1 << 40, 1}, {pageSize, 1 << 40, 1 << 40}, {3*pageSize + 8, alignedFrom, pageSize - 8},
		{maxAddress - alignedFrom - 1, alignedFrom + 1, 1},
	} {
		if got := firstPart(c.addr, c.n); got != c.want {
			t.Errorf("%d bytes at %#x: %d first, want %d", c.n, c.addr, got, c.want)
		}
	}
}

// A failed store of a word is reported, and the lock of atomics is free afterwards.
func TestAtomicThatFailsSaysSo(t *testing.T) {
	for _, steps := range [][]step{{{0, syscall.EIO}}, {{8, nil}, {0, syscall.EIO}}} {
		_, r := fakeRegion(steps...)
		if old, err := r.FetchAddAt(0, 1); !errors.Is(err, Inaccessible) || old != 0 {
			t.Errorf("%d, %v", old, err)
		}
		if old, err := r.FetchAddAt(0, 1); old != 0 || err != nil {
			t.Errorf("the next one: %d, %v", old, err)
		}
	}
	f, r := fakeRegion()
	if _, err := r.CompareSwapAt(8, 1, 2); err != nil || len(f.calls) != 1 {
		t.Errorf("a compare that fails stored something: %q, %v", f.calls, err)
	}
}
