//go:build linux && (amd64 || arm64)

package trap

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// reap waits for the child, with all for adopted orphans too, until there are none.
func (p *Process) reap(all bool) {
	defer close(p.reaped)
	target := p.PID
	if all {
		target = -1
	}
	for {
		var ws syscall.WaitStatus
		pid, err := retry(func() (int, error) { return syscall.Wait4(target, &ws, 0, nil) })
		if err != nil {
			p.finish(ws) // ECHILD: somebody else reaped it
			return
		}
		if pid == p.PID {
			p.finish(ws)
			if !all {
				return
			}
		}
	}
}

func (p *Process) finish(ws syscall.WaitStatus) {
	p.once.Do(func() { p.status = ws; close(p.exited) })
}

// Exited is closed when the program, not its descendants, has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status returns the exit status of the program, after Exited is closed.
func (p *Process) Status() syscall.WaitStatus {
	<-p.exited
	return p.status
}

// Wait waits for the program and with Command.Subreaper for all its descendants. It returns the
// exit status of the program.
func (p *Process) Wait() syscall.WaitStatus {
	<-p.reaped
	return p.status
}

// Signal sends a signal to the program. It returns [os.ErrProcessDone] after its end.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.exited:
		return os.ErrProcessDone
	default:
		return syscall.Kill(p.PID, sig)
	}
}

func (p *Process) kill() { _ = p.Signal(syscall.SIGKILL) }

// KillDescendants kills all descendants of this process, until none is left alive. A process
// that stops to serve calls it: system calls of the programs would fail with ENOSYS otherwise.
func KillDescendants() error {
	for {
		pids, err := descendants(os.Getpid())
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			if err := killAndWait(pid); err != nil {
				return err
			}
		}
	}
}

// killAndWait kills a process and waits until it has ended.
func killAndWait(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("pidfd_open", err)
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("pidfd_send_signal", err)
	}
	end := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err = retry(func() (int, error) { return unix.Poll(end, -1) })
	return err
}

// descendants returns the processes below root that are not zombies.
func descendants(root int) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	zombie := map[int]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		fields := statFields("/proc/" + e.Name() + "/stat")
		if len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			continue
		}
		children[parent] = append(children[parent], pid)
		zombie[pid] = fields[0][0] == 'Z' || fields[0][0] == 'X'
	}
	var out []int
	for todo := children[root]; len(todo) > 0; {
		pid := todo[0]
		todo = append(todo[1:], children[pid]...)
		if !zombie[pid] {
			out = append(out, pid)
		}
	}
	return out, nil
}

// statFields returns the fields of /proc/PID/stat from the third one (state) on, nil if the
// process is gone. The second field, the name, may hold spaces and parentheses.
func statFields(path string) [][]byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return nil
	}
	return bytes.Fields(text[i+1:])
}
