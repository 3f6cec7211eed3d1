package procmem

import (
	"bytes"
	"errors"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/mr"
)

var _ interface {
	mr.AtomicMemory
	mr.Vectored
	mr.ReadOnly
} = (*Region)(nil)

const (
	page    = 4096
	allFlag = mr.LocalWrite | mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic
)

func register(t testing.TB, s *AddressSpace, addr, length uint64, access mr.Access) *Region {
	t.Helper()
	r, err := s.Region(addr, length, access)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// memoryOf returns a program with size writable bytes, and their region.
func memoryOf(t testing.TB, size uint64) (*program, *AddressSpace, *Region) {
	t.Helper()
	p := start(t)
	s := p.space()
	return p, s, register(t, s, p.mapped(size, protWrite), size, allFlag)
}

// operations returns all accesses; those with a length access n bytes at off.
func operations(r *Region, off, n uint64) (reads, writes map[string]func() error) {
	p := make([]byte, n)
	pieces := piecesAt([][]byte{p[:n/2], p[n/2:]}, off)
	reads = map[string]func() error{
		"read":      func() error { return r.ReadAt(p, off) },
		"load byte": func() error { _, err := r.LoadByteAt(off); return err },
		"load word": func() error { _, err := r.LoadUint64At(off); return err },
	}
	writes = map[string]func() error{
		"write":        func() error { return r.WriteAt(p, off) },
		"write pieces": func() error { _, err := r.WritePieces(pieces); return err },
		"write final":  func() error { return r.WriteFinalAt(p, off) },
		"swap":         func() error { _, err := r.CompareSwapAt(off, 0, 0); return err },
		"add":          func() error { _, err := r.FetchAddAt(off, 0); return err },
		"store":        func() error { return r.StoreUint64At(off, 0) },
	}
	return reads, writes
}

// each calls check with the result of every operation.
func each(r *Region, off, n uint64, check func(name string, writes bool, err error)) {
	reads, writes := operations(r, off, n)
	for name, f := range reads {
		check(name, false, f())
	}
	for name, f := range writes {
		check(name, true, f())
	}
}

// fails checks that every operation on n bytes at off fails with kind.
func fails(t *testing.T, r *Region, off, n uint64, kind Kind) {
	t.Helper()
	each(r, off, n, func(name string, _ bool, err error) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%s at %d: %v, want %v", name, off, err, kind)
		}
	})
}

func TestRegionAndProgramHaveTheSameBytes(t *testing.T) {
	p, _, r := memoryOf(t, 4*page)
	p.poke(r.Addr()+page-3, []byte("across the border"))
	got := make([]byte, 17)
	if err := r.ReadAt(got, page-3); err != nil || string(got) != "across the border" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := r.WriteAt([]byte("and back again"), 2*page-7); err != nil {
		t.Fatal(err)
	}
	if got := p.peek(r.Addr()+2*page-7, 14); got != "and back again" {
		t.Errorf("the program has %q", got)
	}
	if r.Size() != 4*page || r.ReadOnly() || r.Err() != nil {
		t.Errorf("size %d, read-only %v, error %v", r.Size(), r.ReadOnly(), r.Err())
	}
}

func TestPiecesOfAnyNumberAndLengthAreStored(t *testing.T) {
	p, _, r := memoryOf(t, 5*stageSize)
	rnd := rand.New(rand.NewSource(1))
	for _, c := range []struct{ number, most int }{
		{0, 1}, {1, 1000}, {1, 2 * stageSize}, {2, 1000}, {64, 1024}, {200, 1000}, {3, stageSize + 2},
		{2, 2 * stageSize}, {100, 2},
	} {
		var pieces [][]byte
		for range c.number {
			b := make([]byte, rnd.Intn(c.most))
			rnd.Read(b)
			pieces = append(pieces, b)
		}
		if err := writeAll(r, pieces, 5); err != nil {
			t.Fatal(err)
		}
		want := bytes.Join(pieces, nil)
		if p.peek(r.Addr()+5, len(want)) != string(want) {
			t.Errorf("%d pieces of less than %d bytes: other bytes are there than were stored", c.number, c.most)
		}
	}
}

// The kernel would allow the write: see "Permissions" in the package comment.
func TestReadOnlyRegionIsNotWritten(t *testing.T) {
	p := start(t)
	r := register(t, p.space(), p.mapped(page, protRead), page, mr.RemoteRead)
	each(r, 8, 16, func(name string, writes bool, err error) {
		if writes != errors.Is(err, WriteToReadOnly) || !writes && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	table := mr.NewTable([32]byte{}, 1)
	if _, err := table.Register(&mr.PD{}, r, 0, page, mr.LocalWrite); err == nil {
		t.Error("package mr registers it with LOCAL_WRITE")
	}
}

func TestNothingOutsideTheRegionIsTouched(t *testing.T) {
	p := start(t)
	base := p.mapped(3*page, protWrite)
	r := register(t, p.space(), base+page, 100, allFlag)
	for _, c := range []struct{ off, n uint64 }{
		{93, 8}, {100, 8}, {101, 8}, {math.MaxUint64 - 3, 8}, {math.MaxUint64 - page + 1, 8}, {1 << 63, 8},
	} {
		each(r, c.off, c.n, func(name string, _ bool, err error) {
			if name == "load byte" && c.off < 100 {
				return
			}
			if !errors.Is(err, OutOfBounds) {
				t.Errorf("%s of %d at %#x: %v", name, c.n, c.off, err)
			}
		})
	}
	err := errors.Join(r.ReadAt(nil, 100), r.WriteAt(nil, 100), writeAll(r, nil, 100), r.WriteFinalAt(nil, 100))
	if err != nil {
		t.Errorf("accesses of no byte at the end: %v", err)
	}
	if r.Err() == nil {
		t.Error("the last error was not kept")
	}
}

func TestPageUnmappedAfterRegistrationIsAnError(t *testing.T) {
	p, _, r := memoryOf(t, 3*page)
	p.unmap(r.Addr()+page, page)
	fails(t, r, page+8, 64, Inaccessible)
	var e *Error
	if err := r.WriteAt(bytes.Repeat([]byte{7}, 2*page), 0); !errors.As(err, &e) || e.At != r.Addr()+page ||
		e.Addr != r.Addr() || e.Length != 2*page {
		t.Errorf("write into the hole: %v", err)
	}
	if got := p.peek(r.Addr()+page-1, 1); got != "\x07" {
		t.Errorf("the byte before the hole is %q", got)
	}
	pieces := [][]byte{make([]byte, page-2), make([]byte, 4), make([]byte, page)}
	err := writeAll(r, pieces, 0)
	if !errors.As(err, &e) || e.At != r.Addr()+page || e.Length != 2*page+2 || e.Kind != Inaccessible {
		t.Errorf("write of pieces into the hole: %v", err)
	}
	each(r, 2*page, 64, func(name string, _ bool, err error) {
		if err != nil {
			t.Errorf("%s behind the hole: %v", name, err)
		}
	})
}

func TestFileThatIsCutIsAnError(t *testing.T) {
	p := start(t)
	s := p.space()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 2*page), 0o600); err != nil {
		t.Fatal(err)
	}
	base := p.number("mapfile %s %d", path, 2*page)
	r := register(t, s, base, 2*page, allFlag)
	if err := os.Truncate(path, page); err != nil {
		t.Fatal(err)
	}
	fails(t, r, page, 64, Inaccessible)
	if _, err := s.Region(base+page, page, 0); !errors.Is(err, Inaccessible) {
		t.Errorf("registration behind the end of the file: %v", err)
	}
}

func TestProtectionAfterRegistrationHasNoEffect(t *testing.T) {
	p, _, r := memoryOf(t, page)
	p.protect(r.Addr(), page, protRead)
	if err := r.WriteAt([]byte("kept"), 0); err != nil && !errors.Is(err, Inaccessible) {
		t.Error(err) // a kernel with proc_mem.force_override=never refuses it
	} else if got := p.peek(r.Addr(), 4); err == nil && got != "kept" {
		t.Errorf("the program has %q", got)
	}
}

func TestRegionOfMoreThanTwoGiB(t *testing.T) {
	if math.MaxUint == math.MaxUint32 {
		t.Skip("no room among 32-bit addresses")
	}
	const size = 5 << 30
	p := start(t)
	base := p.do("map %d %d", uint64(size), protWrite)
	addr, err := strconv.ParseUint(base, 10, 64)
	if err != nil {
		t.Skipf("a program cannot map %d bytes here: %s", uint64(size), base)
	}
	r := register(t, p.space(), addr, size, allFlag)
	for _, off := range []uint64{0, 1<<31 - 4, 1 << 31, 1<<32 - 4, 1 << 32, size - 8} {
		if err := r.WriteFinalAt([]byte("12345678"), off); err != nil {
			t.Fatal(err)
		}
		if got := p.peek(r.Addr()+off, 8); got != "12345678" {
			t.Errorf("at %#x the program has %q", off, got)
		}
	}
	if err := r.ReadAt(make([]byte, 8), size-7); !errors.Is(err, OutOfBounds) {
		t.Errorf("behind its end: %v", err)
	}
}

func TestAccessAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	_, _, r := memoryOf(t, 4*page)
	table := mr.NewTable([32]byte{}, 1)
	reg, err := table.Register(&mr.PD{}, r, r.Addr(), r.Size(), allFlag)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 2*page)
	pieces := piecesAt([][]byte{buf[:1], buf[1:]}, 0)
	reads, writes := operations(r, 9, 2*page)
	for _, all := range []map[string]func() error{reads, writes, {
		"final of a region":  func() error { return reg.WriteFinal(r.Addr()+1, buf) },
		"swap in a region":   func() error { _, err := reg.CompareSwap(r.Addr()+8, 1, 2); return err },
		"add in a region":    func() error { _, err := reg.FetchAdd(r.Addr()+8, 2); return err },
		"atomic of a region": func() error { return reg.WriteAtomic(r.Addr()+8, (*[8]byte)(buf)) },
		"pieces of a region": func() error {
			pieces[0].Off, pieces[1].Off = r.Addr(), r.Addr()+1
			_, err := reg.WritePieces(pieces)
			return err
		},
		"polling of a region": func() error { reg.LoadByte(r.Addr()); reg.LoadUint64(r.Addr()); return nil },
	}} {
		for name, f := range all {
			var err error
			if n := testing.AllocsPerRun(100, func() { err = errors.Join(err, f()) }); n != 0 || err != nil {
				t.Errorf("%s allocates %v times, %v", name, n, err)
			}
		}
	}
}
