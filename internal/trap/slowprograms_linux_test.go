//go:build linux && (amd64 || arm64)

package trap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Part of include/uapi/linux/userfaultfd.h.
const (
	uffdAPI         = 0xc018aa3f
	uffdRegister    = 0xc020aa00
	uffdCopy        = 0xc028aa03
	uffdMissing     = 1
	uffdMessageSize = 32
)

// openUffd opens a userfaultfd that also handles page faults in kernel mode.
func openUffd() (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func needUffd(t *testing.T) {
	t.Helper()
	fd, err := openUffd()
	if err != nil {
		t.Skipf("userfaultfd for faults of the kernel: %v; root or vm.unprivileged_userfaultfd=1 is required", err)
	}
	_ = unix.Close(fd)
}

// A slowPage is memory whose accesses all wait until fill.
type slowPage struct {
	page []byte
	fd   int
}

func newSlowPage() (*slowPage, error) {
	fd, err := openUffd()
	if err != nil {
		return nil, err
	}
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	p := &slowPage{page, fd}
	api := [3]uint64{0xaa}
	area := [4]uint64{p.addr(), uint64(len(page)), uffdMissing}
	return p, first(p.ioctl(uffdAPI, unsafe.Pointer(&api)), p.ioctl(uffdRegister, unsafe.Pointer(&area)))
}

func (p *slowPage) addr() uint64 { return uint64(uintptr(unsafe.Pointer(&p.page[0]))) }

func (p *slowPage) ioctl(cmd uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(p.fd), cmd, uintptr(arg)); errno != 0 {
		return fmt.Errorf("userfaultfd, ioctl %#x: %w", cmd, errno)
	}
	return nil
}

// await waits for n accesses.
func (p *slowPage) await(n int) error {
	for range n {
		var message [uffdMessageSize]byte
		if _, err := retry(func() (int, error) { return unix.Read(p.fd, message[:]) }); err != nil {
			return fmt.Errorf("userfaultfd, read: %w", err)
		}
	}
	return nil
}

// fill provides the page's content, which ends the waiting accesses.
func (p *slowPage) fill(content []byte) error {
	source := make([]byte, len(p.page))
	copy(source, content)
	move := [5]uint64{p.addr(), uint64(uintptr(unsafe.Pointer(&source[0]))), uint64(len(source))}
	return p.ioctl(uffdCopy, unsafe.Pointer(&move))
}

// slowProgram makes args[1] concurrent calls whose argument is in a slow page. While args[2] of
// them are being answered, another program makes calls. args[0] is the kind of the calls.
func slowProgram(args []string) error {
	var calls, answered int
	if _, err := fmt.Sscan(strings.Join(args[1:], " "), &calls, &answered); err != nil {
		return err
	}
	other, err := startOther()
	if err != nil {
		return err
	}
	channel, err := unix.Open(channelPath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	p, err := newSlowPage()
	if err != nil {
		return err
	}
	addr := uintptr(unsafe.Pointer(&p.page[0]))
	content := append([]byte(abiPath), 0)
	call := func() error {
		var st unix.Stat_t
		_, _, errno := unix.Syscall6(unix.SYS_NEWFSTATAT, ^uintptr(99), addr, uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		return want("stat of a path in a slow page", errnoError(errno), 0)
	}
	if args[0] == "ioctl" {
		content = []byte{opCount, 15: 0}
		call = func() error {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(channel), verbsIoctl, addr)
			return want("ioctl with an argument in a slow page", errnoError(errno), 0)
		}
	}
	results := make(chan error, calls)
	for range calls {
		go func() { results <- call() }()
	}
	if err := first(p.await(answered), other.work(), p.fill(content)); err != nil {
		return err
	}
	for range calls {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}

// An otherProgram is a process of the same tree that makes calls on request. The requesting
// process makes no trapped calls for that.
type otherProgram struct {
	*exec.Cmd
	in     io.Writer
	out    *bufio.Reader
	errors *bytes.Buffer
}

func startOther() (*otherProgram, error) {
	p := &otherProgram{Cmd: exec.Command("/proc/self/exe"), errors: &bytes.Buffer{}}
	p.Env = programEnv("other")
	p.Stderr = p.errors
	in, err := p.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.Start(); err != nil {
		return nil, err
	}
	_, err = p.out.ReadString('\n') // it has started
	return p, err
}

// work makes the program make its calls.
func (p *otherProgram) work() error {
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		return err
	}
	if line, err := p.out.ReadString('\n'); line != "done\n" {
		return fmt.Errorf("the other program: %q, %w: %s", line, err, p.errors)
	}
	return p.Wait()
}

func otherMain([]string) error {
	fmt.Println("started")
	var line string
	if _, err := fmt.Scanln(&line); err != nil {
		return err
	}
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := first(mustAdd(fd), unix.Stat(abiPath, &st), unix.Stat("/", &st)); err != nil {
		return err
	}
	fmt.Println("done")
	return nil
}

// blockProgram makes n concurrent calls that the handler answers on request of the test. It
// prints a line for each handled signal, and at the end the first error of the calls.
func blockProgram(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	if err := handle(unix.SIGUSR1, args[1] == "restart"); err != nil {
		return err
	}
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	go func() {
		for range signals {
			fmt.Println("signal")
		}
	}()
	results := make([]error, n)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { _, results[i] = verb(fd, opBlock, 0) })
	}
	wg.Wait()
	fmt.Println(first(results...))
	return nil
}

// errnoError returns errno as an error; nil for 0.
func errnoError(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// stuckProgram makes a call whose argument is in a slow page, prints the number of the
// userfaultfd, and waits to be killed.
func stuckProgram([]string) error {
	p, err := newSlowPage()
	if err != nil {
		return err
	}
	var st unix.Stat_t
	path, out := uintptr(unsafe.Pointer(&p.page[0])), uintptr(unsafe.Pointer(&st))
	go func() { _, _, _ = unix.Syscall6(unix.SYS_NEWFSTATAT, ^uintptr(99), path, out, 0, 0, 0) }()
	if err := p.await(1); err != nil {
		return err
	}
	fmt.Println(p.fd)
	select {}
}

// besideProgram makes n concurrent calls that the handler does not answer, and meanwhile makes
// another program make calls.
func besideProgram(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	other, err := startOther()
	if err != nil {
		return err
	}
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	results := make(chan error, n)
	for range n {
		go func() {
			_, err := verb(fd, opBlock, 0)
			results <- err
		}()
	}
	if err := other.work(); err != nil {
		return err
	}
	fmt.Println("done")
	for range n {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}
