package conform

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tester is what the process in the network namespace of the cable does.
type tester struct {
	Cable string   // socket of the machine's interface
	IP    []string // commands of ip that configure tap
	Argv  []string // the tester
}

// tap is the interface at the tester's end of the cable.
const tap = "tester0"

// maxFrame is the maximum length of a frame on the cable in bytes.
const maxFrame = 64 << 10

// run runs the tester in a new network namespace, for an ordinary user also in a new user
// namespace, and writes its output to the writers. The error is nil if the program ran, whatever
// its exit status is.
func (t *tester) run(ctx context.Context, stdout, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	spec, err := json.Marshal(t)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, TesterCommand, string(spec))
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: syscall.CLONE_NEWNET}
	if uid := os.Geteuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil && exit.ExitCode() != failed {
		return nil
	}
	return err
}

// failed is the exit status of a process that could not run the tester.
const failed = 111

// RunTester runs the tester that t describes as JSON, in the network namespace of this process. It
// returns the exit status.
func RunTester(text string) int {
	var t tester
	status, err := failed, json.Unmarshal([]byte(text), &t)
	if err == nil {
		status, err = t.here()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rxelab:", err)
	}
	return status
}

func (t *tester) here() (status int, err error) {
	dev, err := openTap(tap)
	if err != nil {
		return failed, err
	}
	defer dev.Close()
	batch := exec.Command("ip", "-batch", "-")
	batch.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	batch.Stdin = strings.NewReader(strings.Join(t.IP, "\n") + "\n")
	if out, err := batch.CombinedOutput(); err != nil {
		return failed, fmt.Errorf("ip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	cable, err := net.Dial("unix", t.Cable)
	if err != nil {
		return failed, err
	}
	defer cable.Close()
	// An error means that an end is closed, which the tester notices by itself.
	go func() { _ = fromCable(dev, cable) }()
	go func() { _ = toCable(cable, dev) }()
	cmd := exec.Command(t.Argv[0], t.Argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1), nil
	}
	if err != nil {
		return failed, err
	}
	return 0, nil
}

// openTap makes a TAP interface.
func openTap(name string) (*os.File, error) {
	const file = "/dev/net/tun"
	fd, err := unix.Open(file, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", file, err)
	}
	r, err := unix.NewIfreq(name)
	if err == nil {
		r.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), file), nil
}

// fromCable writes the frames of the machine to the interface. A frame on the cable follows its
// length as a 32-bit number in network byte order.
func fromCable(dev io.Writer, cable io.Reader) error {
	r := bufio.NewReaderSize(cable, 4*maxFrame)
	b := make([]byte, maxFrame)
	for {
		if _, err := io.ReadFull(r, b[:4]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(b)
		if n > maxFrame {
			return fmt.Errorf("a frame of %d bytes: the limit is %d", n, maxFrame)
		}
		if _, err := io.ReadFull(r, b[:n]); err != nil {
			return err
		}
		// The interface refuses a frame that is too short, as an adapter would.
		if _, err := dev.Write(b[:n]); err != nil && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
}

// toCable writes the frames of the interface to the machine.
func toCable(cable io.Writer, dev io.Reader) error {
	b := make([]byte, 4+maxFrame)
	for {
		n, err := dev.Read(b[4:])
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint32(b, uint32(n))
		if _, err := cable.Write(b[:4+n]); err != nil {
			return err
		}
	}
}
