//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"github.com/gorxe/gorxe/internal/trap/softlimit"
	"golang.org/x/sys/unix"
)

// A Command is a program to run under the filter.
type Command struct {
	Path string   // executable, not searched in PATH
	Args []string // with argv[0]; nil: Path alone
	Env  []string // nil: the environment of this process
	Dir  string   // working directory, "": that of this process
	// Files are standard input, output and error, nil: those of this process. Descriptors from
	// 3 up that this process inherited without FD_CLOEXEC are passed on.
	Files [3]*os.File
	// Descriptors to reserve, zero: DescriptorsFor the limit that the program will have.
	Descriptors Descriptors
	// Subreaper adopts and reaps the orphans of the program, so that they stay descendants of
	// this process (Yama) and their filter ends. Process.Wait then waits for all of them. The
	// process must have no children of another origin: they would be reaped too.
	Subreaper bool
}

// A Process is a program that runs under the filter.
type Process struct {
	PID         int
	Descriptors Descriptors // reserved in it

	exited chan struct{} // closed when status is set
	reaped chan struct{} // closed when there are no descendants to reap
	status syscall.WaitStatus
	once   sync.Once
}

// Start starts a program under the filter and returns the listener of its calls, which the
// caller passes to [Serve] and closes after it. The program is killed if this process ends
// first; descendants of the program are not, and all their trapped calls fail with ENOSYS: see
// [KillDescendants].
//
// Errors are [ExecError], [ErrNested], [ErrOldKernel], [ErrDenied], [ErrFewDescriptors] and
// those of fork. HelperMain must be the first call in main.
func Start(c Command) (*Process, *os.File, error) {
	if c.Args == nil {
		c.Args = []string{c.Path}
	}
	if c.Descriptors == (Descriptors{}) {
		d, err := DescriptorsFor(softlimit.NOFILE)
		if err != nil {
			return nil, nil, err
		}
		c.Descriptors = d
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("trap: socketpair: %w", err)
	}
	defer func() { _ = unix.Close(pair[0]) }()
	p, err := fork(&c, pair[1])
	_ = unix.Close(pair[1])
	if err != nil {
		return nil, nil, err
	}
	l, err := receiveListener(&c, pair[0])
	if err != nil {
		p.kill()
		<-p.exited
		return nil, nil, err
	}
	return p, os.NewFile(uintptr(l), "seccomp listener"), nil
}

// fork starts the helper with one end of a socket pair. The thread that forks waits for the
// child: PR_SET_PDEATHSIG is sent when that thread ends, not when the process does.
func fork(c *Command, socket int) (*Process, error) {
	p := &Process{Descriptors: c.Descriptors, exited: make(chan struct{}), reaped: make(chan struct{})}
	files, at := childFiles(c, socket)
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	d := c.Descriptors
	args := slices.Concat([]string{helperName,
		fmt.Sprintf(helperArgs, at, d.Lo, d.Hi, d.Channel, d.WriteLo), c.Path}, c.Args)
	attr := &syscall.ProcAttr{Dir: c.Dir, Env: env, Files: files,
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if c.Subreaper {
			if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
				started <- fmt.Errorf("trap: prctl(PR_SET_CHILD_SUBREAPER): %w", err)
				return
			}
		}
		pid, err := syscall.ForkExec("/proc/self/exe", args, attr)
		if err != nil {
			started <- fmt.Errorf("trap: cannot start the helper: %w", err)
			return
		}
		p.PID = pid
		started <- nil
		p.reap(c.Subreaper)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// childFiles returns the descriptors of the helper and the number of socket among them.
func childFiles(c *Command, socket int) ([]uintptr, int) {
	files := make([]uintptr, 3)
	for i := range files {
		files[i] = uintptr(i)
		if f := c.Files[i]; f != nil {
			files[i] = f.Fd()
		}
	}
	names, _ := os.ReadDir("/proc/self/fd")
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd < 3 {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		for len(files) <= fd {
			files = append(files, ^uintptr(0))
		}
		files[fd] = uintptr(fd)
	}
	return append(files, uintptr(socket)), len(files)
}

// receiveListener waits until the program was executed.
func receiveListener(c *Command, socket int) (int, error) {
	l, err := receiveMessage(c, socket)
	if err != nil {
		return -1, err
	}
	if err := admitExec(l, &listener{fd: l}, socket); err != nil {
		return -1, errors.Join(err, unix.Close(l))
	}
	var p [1]byte
	n, err := retry(func() (int, error) {
		n, _, err := unix.Recvfrom(socket, p[:], unix.MSG_PEEK)
		return n, err
	})
	if err == nil && n == 0 {
		return l, nil
	}
	_ = unix.Close(l)
	if err == nil {
		_, err = receiveMessage(c, socket)
	}
	return -1, err
}

// A notifier is a listener for admitExec.
type notifier interface {
	receive(n *notification) error
	respond(r *response) error
}

// admitExec lets the helper execute the program: the filter traps that, and nobody serves the listener yet. It returns when
// the program was executed or the helper has failed, which shows at the socket.
//
// A signal that comes for the helper before its notification is received takes that back, and the helper makes the call
// again. The runtime of the helper sends one every 10 ms, because it takes the call for code that does not yield.
func admitExec(l int, from notifier, socket int) error {
	for {
		// The socket second: it is closed before the program makes its first call.
		p := []unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}, {Fd: int32(socket), Events: unix.POLLIN}}
		if _, err := retry(func() (int, error) { return unix.Poll(p, -1) }); err != nil {
			return fmt.Errorf("trap: waiting for the helper: %w", err)
		}
		if p[1].Revents != 0 {
			return nil
		}
		if p[0].Revents&unix.POLLIN == 0 {
			continue // the helper has ended: so will its socket
		}
		var n notification
		_, err := retry(func() (int, error) { return 0, from.receive(&n) })
		if err == nil {
			err = from.respond(&response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
		}
		if err != nil && goneError(err) != ErrGone {
			return fmt.Errorf("trap: the call of the helper: %w", err)
		}
	}
}

func receiveMessage(c *Command, socket int) (int, error) {
	var p [8]byte
	oob := make([]byte, unix.CmsgSpace(4))
	var oobn int
	n, err := retry(func() (n int, err error) {
		n, oobn, _, _, err = unix.Recvmsg(socket, p[:], oob, unix.MSG_CMSG_CLOEXEC)
		return n, err
	})
	if err != nil {
		return -1, fmt.Errorf("trap: recvmsg from the helper: %w", err)
	}
	return parseMessage(c, p[:n], oob[:oobn])
}

// retry repeats f while it returns EINTR.
func retry(f func() (int, error)) (int, error) {
	for {
		n, err := f()
		if err != unix.EINTR {
			return n, err
		}
	}
}
