package procmem

import (
	"bytes"
	"errors"
	"math/rand"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
)

// directMemory is memoryOf with direct copies allowed.
func directMemory(t testing.TB, size uint64) (*program, *AddressSpace, *Region) {
	t.Helper()
	p, s, r := memoryOf(t, size)
	if err := s.AllowDirect(p.cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if b := make([]byte, directFrom); !s.direct.one(false, b, r.Addr()) {
		if s.direct.refused.Load() {
			t.Skip("the kernel permits no process_vm_readv here")
		}
		t.Fatal("no direct copy was made")
	}
	return p, s, r
}

func TestDirectCopiesTransferTheSameBytes(t *testing.T) {
	const size = 256 << 10
	p, s, r := directMemory(t, size)
	slow := register(t, p.space(), r.Addr(), size, allFlag)
	random := rand.New(rand.NewSource(1))
	for range 200 {
		want := make([]byte, random.Intn(128<<10))
		random.Read(want)
		off := uint64(random.Intn(size - len(want)))
		var pieces [][]byte
		for rest := want; len(rest) > 0; {
			n := min(len(rest), random.Intn(8<<10))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got := make([]byte, len(want))
		err := writeAll(r, pieces, off)
		if err := errors.Join(err, slow.ReadAt(got, off)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes in %d pieces at %d: %v", len(want), len(pieces), off, err)
		}
		random.Read(want)
		err = slow.WriteAt(want, off)
		if err := errors.Join(err, r.ReadAt(got, off)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("READ of %d bytes at %d: %v", len(want), off, err)
		}
	}
	if s.direct.refused.Load() {
		t.Error("the kernel has refused a direct copy")
	}
}

func TestDirectCopiesEnd(t *testing.T) {
	b := make([]byte, 64<<10)
	for name, end := range map[string]func(*program, *AddressSpace){
		"with EndDirect":            func(_ *program, s *AddressSpace) { s.EndDirect() },
		"with the process":          func(p *program, _ *AddressSpace) { p.end() },
		"where the kernel forbids":  func(_ *program, s *AddressSpace) { s.direct.refused.Store(true) },
		"while their end is waited": func(_ *program, s *AddressSpace) { s.direct.mu.Lock() },
	} {
		t.Run(name, func(t *testing.T) {
			p, s, r := directMemory(t, uint64(len(b)))
			end(p, s)
			for _, write := range []bool{false, true} {
				if s.direct.one(write, b, r.Addr()) || s.direct.write(piecesAt([][]byte{b[:1], b[1:]}, 0),
					r.Addr()) > 0 {
					t.Error("a direct copy was made")
				}
			}
		})
	}
}

// The access rights are the same as without direct copies: see the package comment.
func TestDirectCopiesDoNotChangeWhatCanBeAccessed(t *testing.T) {
	p, _, r := directMemory(t, 4*page)
	b := make([]byte, 3*page)
	p.protect(r.Addr()+page, page, 0)
	if err := errors.Join(r.WriteAt(b, 0), r.ReadAt(b, 0)); err != nil {
		t.Errorf("a page that was protected after its registration: %v", err)
	}
	p.unmap(r.Addr()+2*page, page)
	for name, err := range map[string]error{"read": r.ReadAt(b, 0), "write": r.WriteAt(b, 0)} {
		var e *Error
		if !errors.As(err, &e) || e.Kind != Inaccessible || e.At != r.Addr()+2*page {
			t.Errorf("%s with a page that was unmapped: %v", name, err)
		}
	}
}

func TestProcessesOfOtherUsersAreNotCopiedDirectly(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a process of another user requires root")
	}
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	}()
	f, err := OpenFiles(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c.Process.Pid, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.AllowDirect(c.Process.Pid); err == nil {
		t.Error("direct copies of a process of another user are allowed")
	}
}

func TestDirectCopiesAllocateNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes pools allocate")
	}
	_, _, r := directMemory(t, 64<<10)
	b := make([]byte, 64<<10)
	pieces := piecesAt([][]byte{b[:4096], b[4096:10000], b[10000:]}, 0)
	n := testing.AllocsPerRun(100, func() {
		_, err := r.WritePieces(pieces)
		if err := errors.Join(r.ReadAt(b, 0), r.WriteAt(b, 0), err); err != nil {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
