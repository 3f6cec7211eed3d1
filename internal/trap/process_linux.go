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
	Descriptors Descriptors // reserved in the program

	keeper int           // PID of the keeper
	exited chan struct{} // closed when the program has ended and status is set
	heard  chan struct{} // closed when no more messages of the keeper follow
	reaped chan struct{} // closed when the keeper and all its descendants have ended

	mu     sync.Mutex
	pidfd  int // of the program; -1 after its end
	status syscall.WaitStatus
	err    error
}

// listen receives the exit status of the program from the keeper, until the socket closes.
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

// reap waits until the keeper has ended. If all is true, it then also waits for the other children
// of this process until none is left. If the keeper is stopped, reap resumes it.
//
// changes has received SIGCHLD since before the start of the keeper. The kernel also sends SIGCHLD
// when the keeper is stopped. The signal may be late, because the kernel may deliver it to a thread
// that is blocked in an access to memory of a program. Therefore a pidfd also reports the end of
// the keeper.
func (p *Process) reap(all bool, changes chan os.Signal) {
	defer signal.Stop(changes)
	keeperOver := exitOf(p.keeper)
	target, pidOfKeeper := p.keeper, p.keeper
	if all {
		target = -1
	}
	over := make(chan struct{})
	defer close(over)
	killed := false // the keeper was killed; other children are still waited for
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
		// A program has stopped the keeper. A stopped keeper would not reap its children.
		case ws.Stopped():
			_ = syscall.Kill(pid, syscall.SIGCONT)
		default:
			<-p.heard
			pidOfKeeper = 0 // the kernel may reuse its number
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

// exitOf returns a channel that is closed when a child has ended, or immediately if the child
// cannot be watched.
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
		_ = awaitExit(f) // always true: nothing closes f before
	}()
	return over
}

// keeperEnded records that the keeper and all its descendants have ended.
func (p *Process) keeperEnded(killed bool) {
	p.finish(syscall.WaitStatus(syscall.SIGKILL)) // no effect if the status is known
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

// Exited returns a channel that is closed when the program has ended; its descendants may still
// run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status waits for the program and returns its exit status.
func (p *Process) Status() syscall.WaitStatus {
	<-p.exited
	return p.status
}

// Wait waits for the program and all its descendants and returns the exit status of the program.
func (p *Process) Wait() syscall.WaitStatus {
	<-p.reaped
	return p.status
}

// Err returns [ErrKeeper] if the keeper was killed. It is valid after Wait.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Signal sends a signal to the program. It returns [os.ErrProcessDone] after the end of the
// program.
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
