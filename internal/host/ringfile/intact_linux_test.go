package ringfile

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFileWithHolesInItsRingsIsNotIntact(t *testing.T) {
	f := newFile(t)
	program := programFD(t, f)
	check := func(what string, want error) {
		t.Helper()
		if err := f.Intact(); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("without rings", nil)
	r, err := f.Map(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.Map(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	check("with a ring, and after another one", nil)
	for range 100 {
		rings(t, program, 1)
	}
	check("with doorbells", nil)
	f.Doorbells(nil)
	punch := func(from, n int64) {
		t.Helper()
		if err := unix.Fallocate(int(program.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from,
			n); err != nil {
			t.Fatal(err)
		}
	}
	punch(int64(r.Offset), 1<<19)
	check("with a hole", ErrPunched)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	check("after the ring", nil)
	if err := unix.Fallocate(int(program.Fd()), 0, 1<<30, maxForeign+1<<20); err != nil {
		t.Skipf("no room for %d bytes: %v", maxForeign, err)
	}
	check("with memory of the program", ErrOversize)
}
