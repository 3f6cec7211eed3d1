package procmem

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tests run this binary again as the other process. It executes commands from its standard input,
// one per line, answers each with one line, and ends at the end of its input.
const programEnv = "PROCMEM_TEST_PROGRAM"

var programs = map[string]func() error{"hold": hold, "serve": serve}

func TestMain(m *testing.M) {
	program, ok := programs[os.Getenv(programEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := program(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// program is the other process, as seen by a test.
type program struct {
	testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t testing.TB) *program {
	t.Helper()
	p := &program{TB: t, cmd: exec.Command("/proc/self/exe")}
	p.cmd.Env = append(os.Environ(), programEnv+"=hold", "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.end)
	p.expect("ready")
	return p
}

// end ends the process, if it has not ended, and waits until it is reaped.
func (p *program) end() {
	p.in.Close()
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.cmd.Wait()
}

// do sends a command and returns the answer.
func (p *program) do(format string, args ...any) string {
	p.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.Fatalf("the program: "+format+": %v", append(args, err)...)
	}
	return p.answer()
}

func (p *program) answer() string {
	p.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.Fatalf("the program ended: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *program) expect(want string) {
	p.Helper()
	if got := p.answer(); got != want {
		p.Fatalf("the program answered %q, want %q", got, want)
	}
}

func (p *program) must(format string, args ...any) {
	p.Helper()
	if got := p.do(format, args...); got != "ok" {
		p.Fatalf("the program: "+format+": %s", append(args, got)...)
	}
}

const (
	protRead  = unix.PROT_READ
	protWrite = unix.PROT_READ | unix.PROT_WRITE
)

// mapped makes the program map size zero bytes and returns the address.
func (p *program) mapped(size uint64, prot int) uint64 {
	p.Helper()
	return p.number("map %d %d", size, prot)
}

// number sends a command and returns its answer as a number.
func (p *program) number(format string, args ...any) uint64 {
	p.Helper()
	line := p.do(format, args...)
	n, err := strconv.ParseUint(line, 10, 64)
	if err != nil {
		p.Fatalf("the program: "+format+": %s", append(args, line)...)
	}
	return n
}

func (p *program) protect(addr, size uint64, prot int) {
	p.Helper()
	p.must("protect %d %d %d", addr, size, prot)
}

func (p *program) unmap(addr, size uint64) { p.Helper(); p.must("unmap %d %d", addr, size) }

func (p *program) poke(addr uint64, b []byte) { p.Helper(); p.must("poke %d %x", addr, b) }

func (p *program) peek(addr uint64, n int) string {
	p.Helper()
	b, err := hex.DecodeString(p.do("peek %d %d", addr, n))
	if err != nil {
		p.Fatal(err)
	}
	return string(b)
}

// space returns the address space of the program. It is closed when the test ends.
func (p *program) space() *AddressSpace {
	p.Helper()
	s, err := New(p.cmd.Process.Pid, p.files())
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { s.Close() })
	return s
}

func (p *program) files() *Files {
	p.Helper()
	f, err := OpenFiles(p.cmd.Process.Pid)
	if errors.Is(err, os.ErrPermission) {
		p.Skipf("the memory of a child cannot be opened here: %v", err)
	}
	if err != nil {
		p.Fatal(err)
	}
	return f
}

// hold executes the commands of the test.
func hold() error {
	runtime.LockOSThread()
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil
		}
		answer, err := obey(strings.Fields(line))
		if err != nil {
			answer = err.Error()
		}
		fmt.Println(answer)
	}
}

// at returns an address as a pointer.
func at(addr uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&addr)) }

func bytesAt(addr, n uint64) []byte { return unsafe.Slice((*byte)(at(addr)), n) }

func obey(words []string) (string, error) {
	var n [3]uint64
	for i, w := range words[1:] {
		if i < len(n) {
			n[i], _ = strconv.ParseUint(w, 10, 64)
		}
	}
	switch words[0] {
	case "map":
		p, err := unix.MmapPtr(-1, 0, nil, uintptr(n[0]), int(n[1]), unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		return strconv.FormatUint(uint64(uintptr(p)), 10), err
	case "mapfile": // path, bytes
		f, err := os.OpenFile(words[1], os.O_RDWR, 0)
		if err != nil {
			return "", err
		}
		p, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(n[1]), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		return strconv.FormatUint(uint64(uintptr(p)), 10), errors.Join(err, f.Close())
	case "protect":
		return "ok", unix.Mprotect(bytesAt(n[0], n[1]), int(n[2]))
	case "unmap":
		return "ok", unix.MunmapPtr(at(n[0]), uintptr(n[1]))
	case "poke":
		b, err := hex.DecodeString(words[2])
		copy(bytesAt(n[0], uint64(len(b))), b)
		return "ok", err
	case "peek":
		return hex.EncodeToString(bytesAt(n[0], n[1])), nil
	case "userfault": // address, bytes, flags of userfaultfd(2)
		return "ok", userfault(n[0], n[1], n[2])
	case "watch":
		return watch(n[0], n[1], byte(n[2]))
	case "exec":
		return "", unix.Exec("/proc/self/exe", os.Args, os.Environ())
	case "undump": // like a program that was started with other rights
		return "ok", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	case "exit":
		os.Exit(0)
	case "fork":
		return forked(n[0])
	case "child":
		return askChild()
	}
	return "", fmt.Errorf("unknown command %q", words)
}
