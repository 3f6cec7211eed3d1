//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func descriptorsProgram(args []string) error {
	var d Descriptors
	if _, err := fmt.Sscan(args[0], &d.Lo); err != nil {
		return err
	}
	if _, err := fmt.Sscan(args[1], &d.Channel); err != nil {
		return err
	}
	null, err := unix.Open("/dev/null", unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := first(unix.Dup3(null, d.Lo, 0), unix.Dup3(null, d.Channel, 0)); err != nil {
		return err
	}
	dev, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil || dev != d.Lo+1 {
		return fmt.Errorf("open with a reserved number in use: %d, %v, want %d", dev, err, d.Lo+1)
	}
	channel, err := unix.Open(channelPath, unix.O_RDWR, 0)
	if err != nil || channel != d.Channel+1 {
		return fmt.Errorf("open of a channel: %d, %v, want %d", channel, err, d.Channel+1)
	}
	if n, err := unix.Write(d.Channel, []byte("innocent")); n != 8 || err != nil {
		return fmt.Errorf("write to a file of the program on a reserved number: %d, %v", n, err)
	}
	if n, err := unix.Write(channel, []byte("command")); n != 7 || err != nil {
		return fmt.Errorf("write to a channel: %d, %v", n, err)
	}
	_, err = verb(null, opAdd, 1)
	if err := want("the ioctl on a file of the program", err, unix.ENOTTY); err != nil {
		return err
	}
	low := 100 // a number that is not reserved
	if err := unix.Dup3(dev, low, 0); err != nil {
		return fmt.Errorf("dup3: %w", err)
	}
	_ = unix.Close(dev)
	if err := mustAdd(low); err != nil {
		return fmt.Errorf("after dup3 and close: %w", err)
	}
	again, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil || again != dev {
		return fmt.Errorf("open after close: %d, %v, want %d", again, err, dev)
	}
	pipe, err := verb(low, opInstall, 0)
	if err != nil || pipe >= uint64(d.Lo) {
		return fmt.Errorf("descriptor installed by an ioctl: %d, %v", pipe, err)
	}
	var b [1]byte
	if n, err := unix.Read(int(pipe), b[:]); n != 1 || b[0] != 'x' {
		return fmt.Errorf("reading the installed descriptor: %d, %v", n, err)
	}
	if _, err := verb(low, opForget, 0); err != nil {
		return err
	}
	_, err = verb(low, opAdd, 1)
	return first(want("the ioctl on a forgotten object", err, unix.ENOTTY), mustAdd(again))
}

// duplicatesProgram compares the numbers of duplicates of reserved descriptors with what the
// filter guarantees.
func duplicatesProgram(args []string) error {
	var lo, channel int
	if _, err := fmt.Sscan(args[0]+" "+args[1], &lo, &channel); err != nil {
		return err
	}
	if err := limitDescriptors(1024); err != nil {
		return err
	}
	dev, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil || dev != lo {
		return fmt.Errorf("open: %d, %v, want %d", dev, err, lo)
	}
	cm, err := unix.Open(channelPath, unix.O_RDWR, 0)
	if err != nil || cm != channel {
		return fmt.Errorf("open of a channel: %d, %v, want %d", cm, err, channel)
	}
	for _, t := range []struct {
		what                string
		fd, cmd, least, get int
	}{
		{"dup", dev, -1, 0, lo + 1},
		{"dup of a channel", cm, -1, 0, channel + 1},
		{"F_DUPFD", dev, unix.F_DUPFD, 0, lo + 2},
		{"F_DUPFD_CLOEXEC", dev, unix.F_DUPFD_CLOEXEC, 0, lo + 3},
		{"F_DUPFD from a number of the slot", dev, unix.F_DUPFD, lo + 5, lo + 5},
		{"F_DUPFD from a number behind the slot", dev, unix.F_DUPFD, channel + 4, channel + 4},
	} {
		var got int
		var err error
		if t.cmd < 0 {
			got, err = unix.Dup(t.fd)
		} else {
			got, err = unix.FcntlInt(uintptr(t.fd), t.cmd, t.least)
		}
		if err != nil || got != t.get {
			return fmt.Errorf("%s: %d, %v, want %d", t.what, got, err, t.get)
		}
		flags, err := unix.FcntlInt(uintptr(got), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 != (t.cmd == unix.F_DUPFD_CLOEXEC) {
			return fmt.Errorf("%s: descriptor flags %#x, %v", t.what, flags, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(got, &st); err != nil || st.Mode != deviceMode {
			return fmt.Errorf("%s: fstat: mode %#o, %v, want %#o", t.what, st.Mode, err, deviceMode)
		}
		if err := mustAdd(got); err != nil {
			return fmt.Errorf("%s: %w", t.what, err)
		}
	}
	_, err = unix.FcntlInt(uintptr(dev), unix.F_DUPFD, -1)
	if err := want("F_DUPFD from -1", err, unix.EINVAL); err != nil {
		return err
	}
	if n, err := unix.Write(channel+1, []byte("command")); n != 7 || err != nil {
		return fmt.Errorf("write to a duplicate of a channel: %d, %v", n, err)
	}
	return nil
}

// limitDescriptors sets the soft limit of this process.
func limitDescriptors(n uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return err
	}
	l.Cur = n
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &l)
}

func exhaustProgram(args []string) error {
	var slots int
	if _, err := fmt.Sscan(args[0], &slots); err != nil {
		return err
	}
	if err := limitDescriptors(64); err != nil {
		return err
	}
	for i := range slots {
		if _, err := unix.Open(devicePath, unix.O_RDWR, 0); err != nil {
			return fmt.Errorf("open %d: %w", i, err)
		}
	}
	_, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err := want("one more", err, unix.EMFILE); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 20, Max: 20}); err != nil {
		return err
	}
	_, err = unix.Open(channelPath, unix.O_RDWR, 0)
	return want("an open after the limit was lowered", err, unix.EMFILE)
}

func closeAllProgram([]string) error {
	for fd := 3; fd < 2000; fd++ {
		_ = unix.Close(fd)
	}
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	return mustAdd(fd)
}

func nestedProgram([]string) error {
	_, _, err := Start(Command{Path: "/bin/true"})
	if probe := Probe(); !errors.Is(err, ErrNested) || !errors.Is(probe, ErrNested) || !Nested() {
		return fmt.Errorf("Start: %v, Probe: %v, Nested: %v", err, probe, Nested())
	}
	return nil
}
