//go:build linux && (amd64 || arm64)

package trap

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"syscall"

	"github.com/gorxe/gorxe/internal/trap/keeper"
	"github.com/gorxe/gorxe/internal/trap/softlimit"
	"golang.org/x/sys/unix"
)

// A Command is a program to run under the filter.
type Command struct {
	Path string   // path of the executable; PATH is not searched
	Args []string // arguments, including argv[0]; nil: Path alone
	Env  []string // environment; nil: that of this process
	Dir  string   // working directory; "": that of this process
	// Files are standard input, output and error; nil: those of this process. The program
	// inherits descriptors from 3 up that this process inherited without FD_CLOEXEC.
	Files [3]*os.File
	// Descriptors are the numbers to reserve; zero: those that DescriptorsFor returns for the limit
	// that the program will have.
	Descriptors Descriptors
	// Subreaper makes this process the subreaper of the program: this process reaps all its
	// children and, if the keeper is killed, kills all its descendants. It must have no other
	// children.
	Subreaper bool
}

// Start starts a program under the filter. It returns the listener of the program's calls, which
// the caller passes to [Serve] and then closes. The parent of the program is a keeper: see
// package keeper. If this process ends before the program and all its descendants, the keeper
// kills them.
//
// The errors are [ExecError], [ErrNested], [ErrOldKernel], [ErrDenied], [ErrFewDescriptors] and
// those of fork.
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
	config, err := configure(&c)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = config.Close() }()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("trap: socketpair: %w", err)
	}
	// A goroutine in wait4(2) or recvfrom(2) would block other goroutines of its P until the
	// runtime's monitor notices, which may take 10 ms. So reap waits for SIGCHLD instead.
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, unix.SIGCHLD)
	p, err := fork(&c, pair[1], config)
	_ = unix.Close(pair[1])
	if err != nil {
		signal.Stop(changes)
		return nil, nil, errors.Join(err, unix.Close(pair[0]))
	}
	l, err := p.begin(&c, pair[0])
	if err != nil {
		_ = unix.Kill(p.keeper, unix.SIGKILL) // the PID is still valid: reap has not reaped the keeper yet
		_ = unix.Close(pair[0])
		close(p.heard)
		go p.reap(c.Subreaper, changes)
		<-p.reaped
		return nil, nil, err
	}
	_ = unix.SetNonblock(pair[0], true) // for the runtime's poller; otherwise listen would occupy a thread
	go p.listen(os.NewFile(uintptr(pair[0]), "keeper"))
	go p.reap(c.Subreaper, changes)
	return p, os.NewFile(uintptr(l), "seccomp listener"), nil
}

// configure writes the keeper's configuration to a memfd.
func configure(c *Command) (*os.File, error) {
	filter, err := assemble(c.Descriptors)
	if err != nil || !c.Descriptors.valid() {
		return nil, fmt.Errorf("trap: reserved descriptors %+v are not usable", c.Descriptors)
	}
	fd, err := unix.MemfdCreate("gorxe-keeper", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("trap: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "configuration of the keeper")
	k := keeper.Config{Path: c.Path, Args: c.Args, Filter: encode(filter), Ignored: ignored}
	if _, err := f.Write(k.Encode()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ignored holds the signals that the program begins with ignored: those that this process ignored
// at its start, before main could handle some of them.
var ignored = keeper.Ignored()

// fork starts the keeper with one end of a socket pair.
func fork(c *Command, socket int, config *os.File) (*Process, error) {
	p := &Process{
		Descriptors: c.Descriptors, pidfd: -1,
		exited: make(chan struct{}), reaped: make(chan struct{}), heard: make(chan struct{}),
	}
	files, at := childFiles(c, socket, int(config.Fd()))
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	if c.Subreaper {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("trap: prctl(PR_SET_CHILD_SUBREAPER): %w", err)
		}
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{keeper.Name, strconv.Itoa(at[0]), strconv.Itoa(at[1])},
		&syscall.ProcAttr{Dir: c.Dir, Env: env, Files: files})
	if err != nil {
		return nil, fmt.Errorf("trap: cannot start the keeper: %w", err)
	}
	p.keeper = pid
	return p, nil
}

// childFiles returns the descriptors of the keeper. Descriptors from 3 up that the program inherits
// keep their numbers; the descriptors in more get the numbers between. at holds the numbers of
// more.
func childFiles(c *Command, more ...int) (files []uintptr, at []int) {
	files = []uintptr{0, 1, 2}
	for i, f := range c.Files {
		if f != nil {
			files[i] = f.Fd()
		}
	}
	inherited := keeper.Inherited()
	for len(more) > 0 {
		if n := len(files); slices.Contains(inherited, n) {
			files = append(files, uintptr(n))
			continue
		}
		at = append(at, len(files))
		files = append(files, uintptr(more[0]))
		more = more[1:]
	}
	return files, at // inherited descriptors beyond these need no entry: they lack FD_CLOEXEC
}

// begin waits until the keeper has executed the program and returns the listener.
func (p *Process) begin(c *Command, socket int) (int, error) {
	_, l, err := receive(c, socket)
	if err != nil {
		return -1, err
	}
	if err := admitExec(l, &listener{fd: l}, socket); err != nil {
		return -1, errors.Join(err, unix.Close(l))
	}
	pid, pidfd, err := receive(c, socket)
	if err != nil {
		return -1, errors.Join(err, unix.Close(l))
	}
	p.PID, p.pidfd = int(pid), pidfd
	return l, nil
}

// A notifier is a listener, replaceable in tests of admitExec.
type notifier interface {
	receive(n *notification) error
	respond(r *response) error
}

// admitExec lets the keeper's child execute the program: the filter traps the execve, and no
// server answers the listener yet. If the execve fails, the child writes the error to a pipe of
// the keeper. The pipe may have a reserved number, so admitExec admits that write too.
//
// A signal for the child that arrives before its notification is received or answered cancels the
// notification, and the child makes the call again.
func admitExec(l int, from notifier, socket int) error {
	p := []unix.PollFd{{Fd: int32(l), Events: unix.POLLIN}, {Fd: int32(socket), Events: unix.POLLIN}}
	executing := 0 // thread ID of the child, after its execve was admitted
	for {
		if _, err := retry(func() (int, error) { return unix.Poll(p, -1) }); err != nil {
			return fmt.Errorf("trap: waiting for the keeper: %w", err)
		}
		if p[1].Revents != 0 || p[0].Revents&unix.POLLIN == 0 || executing != 0 && !writes(executing) {
			return nil // the keeper has sent the result, or has ended
		}
		var n notification
		_, err := retry(func() (int, error) { return 0, from.receive(&n) })
		if err == nil {
			if err = from.respond(&response{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}); err == nil {
				executing = int(n.tid)
			}
		}
		if err != nil && goneError(err) != ErrGone {
			return fmt.Errorf("trap: the call of the keeper's child: %w", err)
		}
	}
}

// writes reports whether a process, whose call is trapped, is in write(2). Any other call belongs
// to the program.
func writes(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	nr, _, _ := bytes.Cut(text, []byte(" "))
	return err == nil && string(nr) == strconv.Itoa(unix.SYS_WRITE)
}

// receive receives a message of the keeper that carries a descriptor, and returns its value and the
// descriptor. If the message reports an error, receive returns that error.
func receive(c *Command, socket int) (value uint32, fd int, err error) {
	var p [8]byte
	oob := make([]byte, unix.CmsgSpace(4))
	var oobn int
	n, err := retry(func() (n int, err error) {
		n, oobn, _, _, err = unix.Recvmsg(socket, p[:], oob, unix.MSG_CMSG_CLOEXEC)
		return n, err
	})
	if err != nil {
		return 0, -1, fmt.Errorf("trap: recvmsg from the keeper: %w", err)
	}
	var m keeper.Message
	if !m.Decode(p[:n]) {
		return 0, -1, fmt.Errorf("trap: the keeper ended before it started %s", c.Path)
	}
	if err := messageError(c, m); err != nil {
		return 0, -1, err
	}
	cmsgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(cmsgs) != 1 {
		return 0, -1, fmt.Errorf("trap: the keeper sent %d control messages, want one with a descriptor (%v)",
			len(cmsgs), err)
	}
	fds, err := unix.ParseUnixRights(&cmsgs[0])
	if err != nil || len(fds) != 1 {
		return 0, -1, fmt.Errorf("trap: the keeper sent %d descriptors, want 1 (%v)", len(fds), err)
	}
	return m.Value, fds[0], nil
}

// messageError returns the error that a message of the keeper reports, nil if none.
func messageError(c *Command, m keeper.Message) error {
	errno := syscall.Errno(m.Value)
	switch m.Kind {
	case keeper.Exec:
		return &ExecError{Path: c.Path, Err: errno}
	case keeper.Filter:
		return filterError(errno)
	case keeper.Usage:
		return fmt.Errorf("trap: the keeper cannot start: %w", errno)
	}
	return nil
}

// filterError returns the error for an errno of seccomp(2).
func filterError(errno syscall.Errno) error {
	var known error
	switch errno {
	case 0:
		return nil
	case unix.EBUSY:
		known = ErrNested
	case unix.ENOSYS, unix.EINVAL:
		known = ErrOldKernel
	case unix.EACCES, unix.EPERM:
		known = ErrDenied
	default:
		return fmt.Errorf("trap: cannot install the seccomp filter: %w", errno)
	}
	return fmt.Errorf("%w (seccomp: %w)", known, errno)
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
