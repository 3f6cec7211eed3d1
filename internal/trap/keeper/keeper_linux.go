//go:build linux && (amd64 || arm64)

package keeper

import (
	"errors"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// Name is argv[0] of the keeper. argv[1] is the descriptor number of the keeper's end of the
// socket, argv[2] that of the file with the configuration.
const Name = "gorxe-keeper"

func init() {
	if len(os.Args) == 3 && os.Args[0] == Name {
		runtime.LockOSThread()
		syscall.Exit(run())
	}
}

// A keeper holds the state of the keeper process of one program.
type keeper struct {
	socket    int // to the supervisor
	config    *Config
	inherited []int         // descriptors from 3 up that the program inherits
	program   int           // PID
	allEnded  chan struct{} // closed when the program and all its descendants have ended
	reported  chan struct{} // closed when watch has handled the end of the supervisor
}

// run does the keeper's work and returns its exit status.
func run() int {
	const failed = 126
	socket, ok := parse(os.Args[1])
	if !ok {
		return failed
	}
	k := &keeper{socket: socket, allEnded: make(chan struct{}), reported: make(chan struct{})}
	var err error
	if k.config, err = readConfig(os.Args[2]); err == nil {
		syscall.CloseOnExec(k.socket)
		err = adoptOrphans()
	}
	if err != nil {
		send(k.socket, Usage, uint32(errnoOf(err)), -1)
		return failed
	}
	ignoreSignals()
	ignoreInProgram(k.config.Ignored)
	go k.watch()
	if !k.start() {
		return failed
	}
	ignoreStops()
	k.closeFiles()
	k.reap()
	close(k.allEnded)
	if k.abandoned(0) {
		<-k.reported
	}
	return 0
}

func readConfig(number string) (*Config, error) {
	fd, ok := parse(number)
	if !ok {
		return nil, errConfig
	}
	f := os.NewFile(uintptr(fd), "configuration")
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<62))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return decode(text)
}

// start installs the filter and starts the program. It returns false after it has reported an error
// to the supervisor. After the installation this thread must make no trapped call until the
// supervisor answers: it only forks, waits and uses the socket.
func (k *keeper) start() bool {
	var pidfd int
	k.inherited = Inherited()
	// Files must not name the inherited descriptors: the pipe of ForkExec would get a number
	// above them.
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, PidFD: &pidfd}}
	listener, errno := Install(k.config.Filter)
	if errno != 0 {
		send(k.socket, Filter, uint32(errno), -1)
		return false
	}
	// The keeper keeps the listener open. If all its descriptors closed with the end of the
	// supervisor, trapped calls would fail with ENOSYS until the program is killed. This way they
	// wait.
	send(k.socket, Listener, 0, listener)
	pid, err := syscall.ForkExec(k.config.Path, k.config.Args, attr)
	if err != nil {
		send(k.socket, Exec, uint32(errnoOf(err)), -1)
		return false
	}
	k.program = pid
	send(k.socket, Started, uint32(pid), pidfd)
	_ = syscall.Close(pidfd)
	return true
}

// reap waits for the program and its orphaned descendants until none is left.
func (k *keeper) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == k.program:
			send(k.socket, Ended, uint32(status), -1)
		}
	}
}

// abandoned reports whether the supervisor ends within ms milliseconds; -1: no limit. The
// supervisor sends nothing, so the socket becomes readable only when the supervisor ends.
func (k *keeper) abandoned(ms int) bool {
	n, err := poll([]pollFD{{fd: int32(k.socket), events: pollIn}}, ms)
	return n > 0 && err == nil
}

// watch waits for the end of the supervisor. Then it reports that and kills all descendants,
// including a child that is about to execute the program.
func (k *keeper) watch() {
	if !k.abandoned(-1) {
		return
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		line := "gorxe: gorxe run has ended unexpectedly: killing " + after(k.config.Path, '/') +
			" and everything it started\n"
		_, _ = syscall.Write(2, []byte(line))
	}()
	KillUntil(k.allEnded)
	select {
	case <-written:
	case <-time.After(time.Second): // nothing reads the pipe of standard error, and it is full
	}
	close(k.reported)
}

// closeFiles closes the descriptors that the program has inherited, so readers of a pipe see its
// end when the program closes it. Standard error stays open.
func (k *keeper) closeFiles() {
	for _, fd := range append(k.inherited, 0, 1) {
		_ = syscall.Close(fd)
	}
}

// Inherited returns the descriptors of this process from 3 up that a program inherits: those
// without FD_CLOEXEC.
func Inherited() (fds []int) {
	names, _ := os.ReadDir("/proc/self/fd")
	for _, name := range names {
		fd, ok := parse(name.Name())
		if !ok || fd < 3 {
			continue
		}
		flags, _, errno := syscall.RawSyscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if errno == 0 && flags&syscall.FD_CLOEXEC == 0 {
			fds = append(fds, fd)
		}
	}
	return fds
}
