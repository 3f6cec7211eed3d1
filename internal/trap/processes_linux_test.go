//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	if os.Getenv(programVariable) != "" {
		runtime.LockOSThread() // main of a program runs on the leader of its threads
	}
}

// inheritProgram passes its device to a child by fork and exec.
func inheritProgram([]string) error {
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	child := exec.Command("/proc/self/exe")
	child.Env = programEnv("inherited")
	child.ExtraFiles = []*os.File{os.NewFile(uintptr(fd), "device")}
	child.Stderr = os.Stderr
	return child.Run()
}

func inheritedProgram([]string) error {
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	return first(mustAdd(3), mustAdd(fd))
}

// execProgram executes another program that uses the device.
func execProgram([]string) error {
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := unix.Dup3(fd, 3, 0); err != nil {
		return fmt.Errorf("dup3: %w", err)
	}
	return unix.Exec("/proc/self/exe", []string{"inherited"}, programEnv("inherited"))
}

// limitProgram prints the reserved numbers and the soft limit of a program that it starts.
func limitProgram([]string) error {
	tree, err := makeTree()
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }()
	p, l, err := Start(Command{Path: "/bin/sh", Args: []string{"sh", "-c", "ulimit -Sn"}})
	if err != nil {
		return err
	}
	s, err := Serve(l, Config{Handler: newHandler(), Tree: tree, Descriptors: p.Descriptors})
	if err != nil {
		return err
	}
	_ = l.Close()
	p.Wait()
	<-s.Done()
	fmt.Println(p.Descriptors.Lo, p.Descriptors.Hi)
	return nil
}

// threadsProgram accesses paths and uses one device from 8 threads.
func threadsProgram([]string) error {
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	var failed atomic.Pointer[error]
	for range 8 {
		wg.Go(func() {
			runtime.LockOSThread()
			for range 300 {
				var st unix.Stat_t
				_, err := os.ReadFile(abiPath)
				if err := first(err, mustAdd(fd), unix.Stat("/", &st)); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// handle counts a signal and sets whether its handler has SA_RESTART, which Go's handlers have.
func handle(sig unix.Signal, restart bool) error {
	signal.Notify(make(chan os.Signal, 1), sig)
	if restart {
		return nil
	}
	var action struct{ handler, flags, restorer, mask uint64 }
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
	if errno != 0 {
		return errno
	}
	const saRestart = 0x10000000
	action.flags &^= saRestart
	_, _, errno = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// timerProgram makes 5000 trapped calls under a timer of 100 µs and prints how many returned 0.
func timerProgram(args []string) error {
	if err := handle(unix.SIGALRM, args[0] == "restart"); err != nil {
		return err
	}
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	every := unix.Timeval{Usec: 100}
	if _, err := unix.Setitimer(unix.ITIMER_REAL, unix.Itimerval{Interval: every, Value: every}); err != nil {
		return err
	}
	var done, interrupted int
	for range 5000 {
		switch _, err := verb(fd, opCount, 0); {
		case err == nil:
			done++
		case errors.Is(err, unix.EINTR):
			interrupted++
		default:
			return err
		}
	}
	fmt.Println(done, interrupted)
	return nil
}

// parkProgram makes a call that blocks, on the leader or on another thread, and prints its
// result.
func parkProgram(args []string) error {
	if err := handle(unix.SIGUSR1, args[1] == "restart"); err != nil {
		return err
	}
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	block := func() {
		_, err := verb(fd, opPark, 0)
		fmt.Println(err)
	}
	if args[0] == "leader" {
		block()
		return nil
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		block()
	})
	wg.Wait()
	return nil
}

// measureProgram makes a kind of call n times and prints minimum and median in nanoseconds.
func measureProgram(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	dev, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	channel, err := unix.Open(channelPath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	b := []byte("12345678901234567890123456789012")
	call := map[string]func() error{
		"ioctl":       func() error { _, err := verb(dev, opCount, 0); return err },
		"ioctl+write": func() error { _, err := verb(dev, opAdd, 0); return err },
		"write":       func() error { _, err := unix.Write(channel, b); return err },
		"stat host":   func() error { return unix.Stat("/usr", &st) },
		"stat own":    func() error { return unix.Stat(abiPath, &st) },
		"stat absent": func() error { _ = unix.Stat(abiPath+"x", &st); return nil },
		"getppid":     func() error { unix.Getppid(); return nil },
	}[args[0]]
	times := make([]time.Duration, n)
	for i := range times {
		start := time.Now()
		if err := call(); err != nil {
			return err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	fmt.Println(times[0].Nanoseconds(), times[n/2].Nanoseconds())
	return nil
}

// superviseProgram runs a shell that leaves a child running, as gorxe run would. After the shell
// has ended, superviseProgram writes a line to a pipe, and the child then reads a file of the
// tree.
func superviseProgram([]string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if err := unix.Dup2(int(r.Fd()), 9); err != nil { // without FD_CLOEXEC: passed on
		return err
	}
	tree, err := makeTree()
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }()
	p, l, err := Start(Command{Path: "/bin/sh", Subreaper: true,
		Args: []string{"sh", "-c", "(read x <&9; cat " + abiPath + ") & exit 7"}})
	if err != nil {
		return err
	}
	s, err := Serve(l, Config{Handler: newHandler(), Tree: tree, Descriptors: p.Descriptors})
	if err != nil {
		return err
	}
	<-p.Exited()
	_, _ = w.WriteString("go\n")
	ws := p.Wait()
	<-s.Done()
	fmt.Println("status", ws.ExitStatus())
	return nil
}

// slowExecProgram opens the device repeatedly while another thread executes a program. It makes
// the system call directly: during syscall.Exec the runtime starts no threads, and there may be
// none for the opens.
func slowExecProgram([]string) error {
	path, err := unix.BytePtrFromString("/proc/self/exe")
	if err != nil {
		return err
	}
	argv, err := syscall.SlicePtrFromStrings([]string{"other"})
	if err != nil {
		return err
	}
	env, err := syscall.SlicePtrFromStrings(programEnv("other"))
	if err != nil {
		return err
	}
	// An execve is reported to the handler only for a process that has opened a device.
	if err := openDevice(); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		_, _, errno := unix.Syscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])),
			uintptr(unsafe.Pointer(&env[0])))
		failed <- errno
	}()
	for {
		select {
		case err := <-failed:
			return fmt.Errorf("execve: %w", err)
		default:
		}
		if err := openDevice(); err != nil {
			return err
		}
	}
}

func openDevice() error {
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
