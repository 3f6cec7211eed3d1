//go:build linux && (amd64 || arm64)

package trap

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/gorxe/gorxe/internal/trap/keeper"
	"golang.org/x/sys/unix"
)

// A Process is a program that runs under the filter.
type Process struct {
	PID         int
	Descriptors Descriptors // reserved in it

	keeper int           // PID of its parent
	exited chan struct{} // closed when status is set
	heard  chan struct{} // closed when the keeper says no more
	reaped chan struct{} // closed when the keeper and all that it kept have ended

	mu     sync.Mutex
	pidfd  int // of the program, -1 after its end
	status syscall.WaitStatus
	err    error
}

// listen receives the exit status of the program from the keeper, until that has ended.
func (p *Process) listen(socket *os.File) {
	defer close(p.heard)
	defer func() { _ = socket.Close() }()
	for {
		var b [8]byte
		n, err := socket.Read(b[:])
		var m keeper.Message
		if err != nil || !m.Decode(b[:n]) {
			return
		}
		if m.Kind == keeper.Ended {
			p.finish(syscall.WaitStatus(m.Value))
		}
	}
}

// reap waits for the keeper, with all for other children too, until there are none. changes has had each SIGCHLD since
// before the keeper was started. It tells of a keeper that is stopped, but may come late: the kernel may have chosen a
// thread for it that waits for memory of a program.
func (p *Process) reap(all bool, changes chan os.Signal) {
	defer signal.Stop(changes)
	keeperOver := exitOf(p.keeper)
	target, pidOfKeeper := p.keeper, p.keeper
	if all {
		target = -1
	}
	over := make(chan struct{})
	defer close(over)
	killed := false // the keeper, with others that are waited for
	for options := syscall.WUNTRACED | syscall.WNOHANG; ; {
		var ws syscall.WaitStatus
		pid, err := retry(func() (int, error) { return syscall.Wait4(target, &ws, options, nil) })
		switch {
		case err == nil && pid == 0:
			select {
			case <-changes:
			case <-keeperOver:
				options &^= syscall.WNOHANG
			}
		case err != nil:
			if killed {
				p.keeperEnded(true)
			}
			return
		case pid != pidOfKeeper:
		case ws.Stopped(): // a program stops it, which then would not be waited for
			_ = syscall.Kill(pid, syscall.SIGCONT)
		default:
			<-p.heard
			pidOfKeeper = 0 // another process may get its number
			failed := !ws.Exited() || ws.ExitStatus() != 0
			if killed = failed && all; killed {
				go keeper.KillUntil(over)
				continue
			}
			p.keeperEnded(failed)
			if !all {
				return
			}
		}
	}
}

// exitOf returns a channel that is closed when a child has ended, or at once if that cannot be waited for.
func exitOf(child int) <-chan struct{} {
	over := make(chan struct{})
	fd, err := unix.PidfdOpen(child, unix.PIDFD_NONBLOCK)
	if err != nil {
		close(over)
		return over
	}
	go func() {
		defer close(over)
		f := os.NewFile(uintptr(fd), "pidfd")
		defer func() { _ = f.Close() }()
		_ = awaitExit(f) // true, as nothing closes f before
	}()
	return over
}

// keeperEnded is called when the keeper and all that it kept have ended.
func (p *Process) keeperEnded(killed bool) {
	p.finish(syscall.WaitStatus(syscall.SIGKILL)) // unless it is known
	p.mu.Lock()
	defer p.mu.Unlock()
	if killed {
		p.err = ErrKeeper
	}
	close(p.reaped)
}

// finish sets the status of the program, once.
func (p *Process) finish(ws syscall.WaitStatus) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.exited:
		return
	default:
	}
	_ = unix.Close(p.pidfd)
	p.pidfd, p.status = -1, ws
	close(p.exited)
}

// Exited is closed when the program, not its descendants, has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status returns the exit status of the program, after Exited is closed.
func (p *Process) Status() syscall.WaitStatus {
	<-p.exited
	return p.status
}

// Wait waits for the program and all its descendants. It returns the exit status of the program.
func (p *Process) Wait() syscall.WaitStatus {
	<-p.reaped
	return p.status
}

// Err returns [ErrKeeper] if the keeper was killed, after Wait.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Signal sends a signal to the program. It returns [os.ErrProcessDone] after its end.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pidfd < 0 {
		return os.ErrProcessDone
	}
	err := unix.PidfdSendSignal(p.pidfd, sig, nil, 0)
	if err == unix.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

func (p *Process) kill() { _ = p.Signal(syscall.SIGKILL) }
