package procmem

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAfterExecNothingIsReadOrWritten(t *testing.T) {
	p, s, r := memoryOf(t, page)
	if got := s.State(); got != Alive {
		t.Errorf("before exec: %v", got)
	}
	if got := p.do("exec"); got != "ready" {
		t.Fatal(got)
	}
	fails(t, r, 0, 64, Gone)
	if got := s.State(); got != Replaced {
		t.Errorf("after exec: %v", got)
	}
	for _, text := range []bool{false, true} {
		s.textMaps.Store(text)
		if _, err := s.Region(r.Addr(), page, 0); !errors.Is(err, Gone) {
			t.Errorf("registration after exec: %v", err)
		}
	}
	// The new program has its own memory, also at the same address.
	fresh := p.space()
	addr := p.mapped(page, protWrite)
	p.poke(addr, []byte("new"))
	again := register(t, fresh, addr, page, allFlag)
	fails(t, r, 0, 64, Gone)
	if got := make([]byte, 3); again.ReadAt(got, 0) != nil || string(got) != "new" || fresh.State() != Alive {
		t.Errorf("the new program has %q, %v", got, fresh.State())
	}
}

func TestAfterTheEndNothingIsReadOrWritten(t *testing.T) {
	p, s, r := memoryOf(t, page)
	noPidfd := p.files()
	noPidfd.Pidfd.Close()
	noPidfd.Pidfd = nil
	blind, err := New(p.cmd.Process.Pid, noPidfd)
	if err != nil {
		t.Fatal(err)
	}
	defer blind.Close()
	files := p.files()
	p.end()
	fails(t, r, 0, 64, Gone)
	if got := s.State(); got != Ended {
		t.Errorf("with a pidfd: %v", got)
	}
	if got := blind.State(); got != Lost {
		t.Errorf("without a pidfd: %v", got)
	}
	blind.textMaps.Store(true)
	for _, s := range []*AddressSpace{s, blind} {
		if _, err := s.Region(r.Addr(), page, 0); !errors.Is(err, Gone) || !errors.Is(err, syscall.ESRCH) {
			t.Errorf("registration: %v", err)
		}
	}
	if _, err := New(p.cmd.Process.Pid, files); !errors.Is(err, Gone) {
		t.Errorf("New on files of a process that has ended: %v", err)
	}
	if _, err := OpenFiles(p.cmd.Process.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("OpenFiles of a process that has ended: %v", err)
	}
}

// The PID is only for errors: with the PID of another process, the same memory is accessed.
func TestPIDIsNotUsedForAccess(t *testing.T) {
	p, other := start(t), start(t)
	f := p.files()
	s, err := New(other.cmd.Process.Pid, f)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := register(t, s, p.mapped(page, protWrite), page, allFlag)
	if err := r.WriteAt([]byte("mine"), 0); err != nil || p.peek(r.Addr(), 4) != "mine" {
		t.Errorf("the program has %q, %v", p.peek(r.Addr(), 4), err)
	}
	other.end()
	if err := r.WriteAt([]byte("live"), 0); err != nil || s.State() != Alive {
		t.Errorf("after the other process has ended: %v, %v", err, s.State())
	}
}

// If an execve happens between the two calls of open, the files are refused.
func TestFilesOfTwoProgramsAreRefused(t *testing.T) {
	p := start(t)
	f := p.files()
	if got := p.do("exec"); got != "ready" {
		t.Fatal(got)
	}
	later := p.files()
	f.Maps.Close()
	f.Maps, later.Maps = later.Maps, nil
	later.Close()
	if _, err := New(p.cmd.Process.Pid, f); !errors.Is(err, Gone) {
		t.Errorf("mem of the old program and maps of the new one: %v", err)
	}
}

func TestAfterForkTheRegionIsTheParents(t *testing.T) {
	p, s, r := memoryOf(t, page)
	p.poke(r.Addr(), []byte{'p'})
	if pid := p.number("fork %d", r.Addr()); pid == 0 {
		t.Fatal("no child")
	}
	if err := r.WriteAt([]byte{'w'}, 0); err != nil {
		t.Fatal(err)
	}
	if got := p.do("child"); got != "pc" {
		t.Errorf("the child found and stored %q", got)
	}
	got := make([]byte, 1)
	if err := r.ReadAt(got, 0); err != nil || got[0] != 'w' || p.peek(r.Addr(), 1) != "w" {
		t.Errorf("the parent has %q, %v", got, err)
	}
	if got := s.State(); got != Alive {
		t.Errorf("the state is %v", got)
	}
}

// A process without access rights to the program serves its memory with inherited descriptors.
func TestDescriptorsServeAProcessWithoutRights(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("starting a process of another user takes root")
	}
	p := start(t)
	f := p.files()
	defer f.Close()
	addr := p.mapped(page, protWrite)
	p.poke(addr, bytes.Repeat([]byte{0xff}, 8))
	server := exec.Command("/proc/self/exe")
	server.Env = []string{programEnv + "=serve",
		fmt.Sprintf("PROCMEM_TEST_REGION=%d %d %d", p.cmd.Process.Pid, addr, page)}
	server.ExtraFiles = []*os.File{f.Mem, f.Maps}
	server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := server.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := p.peek(addr, 14); got != "\x00\x00\x00\x00\x00\x00\x00\x00served" {
		t.Errorf("the program has %q", got)
	}
}

func TestClosedRegionRefusesAccesses(t *testing.T) {
	_, s, r := memoryOf(t, page)
	other := register(t, s, r.Addr(), page, allFlag)
	if err := errors.Join(r.Close(), r.Close(), s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	fails(t, r, 0, 64, Closed)
	if err := r.Err(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the last error is %v", err)
	}
	if _, err := s.Region(r.Addr(), page, 0); !errors.Is(err, Closed) {
		t.Errorf("registration on a closed address space: %v", err)
	}
	if err := other.WriteAt([]byte{1}, 0); err != nil || s.State() != Alive {
		t.Errorf("the other region: %v, the address space is %v", err, s.State())
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	fails(t, other, 0, 64, Closed)
	if _, err := s.files.Mem.Stat(); !errors.Is(err, fs.ErrClosed) || s.State() != Unreachable {
		t.Errorf("after the last region the files are open: %v, %v", err, s.State())
	}
}

// Access rights are checked at open only: see "Identity" in the package comment.
func TestProgramThatHidesItsMemoryLaterIsServed(t *testing.T) {
	p, s, r := memoryOf(t, page)
	p.must("undump")
	if err := r.WriteAt([]byte("open"), 0); err != nil || p.peek(r.Addr(), 4) != "open" {
		t.Errorf("the region: %v", err)
	}
	if _, err := s.Region(r.Addr(), page, allFlag); err != nil {
		t.Errorf("registration: %v", err)
	}
	f, err := OpenFiles(s.PID())
	if err == nil {
		f.Close()
	}
	if root := os.Geteuid() == 0; !root &&
		(!errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "trace")) {
		t.Errorf("opening the files again: %v", err)
	}
}

func TestFilesThatAreNotOfAProcessAreRefused(t *testing.T) {
	p := start(t)
	open := func(path string, flags int) *os.File {
		f, err := os.OpenFile(path, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pid := p.cmd.Process.Pid
	for name, c := range map[string]struct {
		change func(f *Files)
		says   string
	}{
		"none":    {func(f *Files) { f.Mem = nil }, "Mem"},
		"no maps": {func(f *Files) { f.Maps = nil }, "Maps"},
		"null":    {func(f *Files) { f.Mem = open("/dev/null", os.O_RDWR) }, "mem: the file is not in a proc"},
		"maps of /tmp": {func(f *Files) { f.Maps = open("/dev/null", os.O_RDONLY) },
			"maps: the file is not in a proc"},
		"only to read": {func(f *Files) { f.Mem = open(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDONLY) },
			"for reading and writing"},
		"only a path": {func(f *Files) { f.Maps = open(fmt.Sprintf("/proc/%d/maps", pid), unix.O_PATH) },
			"opened with"},
		"maps as mem": {func(f *Files) { f.Mem = open(fmt.Sprintf("/proc/%d/maps", pid), os.O_RDONLY) },
			"for reading and writing"},
		"other as mem": {func(f *Files) { f.Mem = open(fmt.Sprintf("/proc/%d/clear_refs", pid), os.O_WRONLY) },
			"for reading and writing"},
		"closed before": {func(f *Files) { f.Mem.Close() }, "mem:"},
	} {
		f, all := p.files(), Files{}
		all = *f
		c.change(f)
		s, err := New(pid, f)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
		for _, file := range []*os.File{f.Mem, f.Maps, f.Pidfd} {
			if file != nil && file.Close() == nil {
				t.Errorf("%s: New left a file open", name)
			}
		}
		all.Close()
	}
}

func TestProcessThatCannotBeOpenedIsNamed(t *testing.T) {
	for _, pid := range []int{0, -1, 1 << 30} {
		if f, err := OpenFiles(pid); err == nil {
			f.Close()
			t.Errorf("process %d was opened", pid)
		} else if !strings.Contains(err.Error(), fmt.Sprint(pid)) {
			t.Errorf("process %d: %v", pid, err)
		}
	}
	if os.Geteuid() != 0 {
		if _, err := OpenFiles(1); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "trace") {
			t.Errorf("process 1: %v", err)
		}
	}
}
