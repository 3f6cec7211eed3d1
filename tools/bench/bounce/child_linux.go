package bounce

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is the program of an end, from its device's point of view.
type child struct {
	cmd                 *exec.Cmd
	said                bytes.Buffer
	pidfd               int // readable when the program has ended
	inotify             int // readable when the program has rung the doorbell
	listener            int // seccomp listener of trapped calls; -1: none
	ready               int // socket on which the program reports that it is ready
	received, completed int // pipes on which the program waits
	rung, delivered     *atomic.Uint64
	page                []byte
	open                []int // all descriptors above, for close
}

// startChild starts a program; await waits until it is ready. The calling thread must live as
// long as the program, which is killed with it, and must not block signals, because the program
// would inherit that.
func startChild(argv []string, w Way, client bool) (c *child, err error) {
	c = &child{pidfd: -1, listener: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	c.cmd = exec.Command(argv[0], append(argv[1:len(argv):len(argv)], programArgs(w, client)...)...)
	c.cmd.Stderr = &c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, PidFD: &c.pidfd}
	theirs, err := c.descriptors()
	if err == nil {
		err = c.cmd.Start()
	}
	for _, f := range theirs {
		f.Close() // the program has duplicates, or was not started
	}
	if err != nil {
		return c, fmt.Errorf("starting the program: %w", err)
	}
	if c.pidfd < 0 {
		return c, errors.New("starting the program: the kernel gives no pidfd, which takes Linux 5.4 or newer")
	}
	c.open = append(c.open, c.pidfd)
	return c, nil
}

// descriptors creates the shared file, the pipes and the socket. It returns the program's
// descriptors in the order of their numbers.
func (c *child) descriptors() (theirs []*os.File, err error) {
	file, err := newFile()
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, file)
	if c.page, err = mapFile(int(file.Fd())); err != nil {
		return theirs, err
	}
	c.rung, c.delivered = wordAt(c.page, 0), wordAt(c.page, deliveredAt)
	if c.inotify, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err != nil {
		return theirs, fmt.Errorf("inotify: %w", err)
	}
	c.open = append(c.open, c.inotify)
	name := fmt.Sprintf("/proc/self/fd/%d", file.Fd())
	if _, err = unix.InotifyAddWatch(c.inotify, name, unix.IN_MODIFY); err != nil {
		return theirs, fmt.Errorf("watching the file of doorbells: inotify: %w", err)
	}
	for _, write := range []*int{&c.received, &c.completed} {
		var p [2]int
		if err = unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return theirs, fmt.Errorf("a pipe to the program: %w", err)
		}
		*write = p[1]
		c.open = append(c.open, p[1])
		theirs = append(theirs, os.NewFile(uintptr(p[0]), "pipe"))
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return theirs, fmt.Errorf("a socket pair with the program: %w", err)
	}
	c.ready = pair[0]
	c.open = append(c.open, c.ready)
	theirs = append(theirs, os.NewFile(uintptr(pair[1]), "socket"))
	c.cmd.ExtraFiles = theirs
	return theirs, nil
}

// newFile creates an unnamed file on tmpfs, as gorxe does.
func newFile() (*os.File, error) {
	var errs []error
	for _, dir := range []string{"/dev/shm", os.Getenv("XDG_RUNTIME_DIR")} {
		if dir == "" {
			continue
		}
		f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE|unix.O_CLOEXEC, 0o600)
		if err == nil {
			err = f.Truncate(int64(os.Getpagesize()))
		}
		if err == nil {
			return f, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("a file that device and program share: %w", errors.Join(errs...))
}

// await waits until the program is ready, and receives the listener of its trapped calls. The
// calling thread must have all signals blocked.
func (c *child) await(w Way) error {
	fds := []unix.PollFd{{Fd: int32(c.ready), Events: unix.POLLIN}}
	switch n, err := pollRaw(fds, limit); {
	case err != nil:
		return err
	case n == 0:
		return fmt.Errorf("the program is not ready after %v", limit)
	}
	b, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, oobn, _, _, err := unix.Recvmsg(c.ready, b, oob, unix.MSG_CMSG_CLOEXEC)
	switch {
	case err != nil:
		return fmt.Errorf("waiting for the program: %w", err)
	case n == 0:
		return errProgram // ended returns the reason
	case !w.traps():
		return nil
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("the program sent no listener of its calls: %w", err)
	}
	fds2, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds2) != 1 {
		return fmt.Errorf("the program sent no listener of its calls: %w", err)
	}
	c.listener = fds2[0]
	c.open = append(c.open, c.listener)
	return nil
}

// deliver passes message n of the peer to the program.
func (c *child) deliver(w Way, n uint64) error {
	if w == Polling {
		c.delivered.Store(n)
		return nil
	}
	return c.event(c.received, n)
}

// complete tells the program that the peer has message n.
func (c *child) complete(n uint64) error { return c.event(c.completed, n) }

func (c *child) event(fd int, n uint64) error {
	switch errno := writeWord(fd, n); errno {
	case 0:
		return nil
	case unix.EPIPE:
		return errProgram
	default:
		return fmt.Errorf("writing to the pipe of the program: %w", errno)
	}
}

// doorbell reads the inotify events and returns the number of the message that the program wants
// to send.
func (c *child) doorbell() (uint64, error) {
	var reports [16 * unix.SizeofInotifyEvent]byte
	if _, errno := readRaw(c.inotify, reports[:]); errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
		return 0, fmt.Errorf("reading the reports of inotify: %w", errno)
	}
	return c.rung.Load(), nil
}

// ended returns how a program ended prematurely, as an error.
func (c *child) ended() error {
	err := c.cmd.Wait()
	state := "exit status 0"
	if err != nil {
		state = err.Error()
	}
	if said := strings.TrimSpace(c.said.String()); said != "" {
		state += ": " + said
	}
	return fmt.Errorf("%w: %s", errProgram, state)
}

// close kills the program and waits for it. An error is one of the kernel's.
func (c *child) close() error {
	var errs []error
	if c.cmd.Process != nil && c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill() // error: it has ended
		_ = c.cmd.Wait()         // error: it was killed
	}
	for _, fd := range c.open {
		errs = append(errs, unix.Close(fd))
	}
	if c.page != nil {
		errs = append(errs, unix.Munmap(c.page))
	}
	return errors.Join(errs...)
}
