package procmem

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenFiles opens the files of a process. pid may also be a thread ID; Pidfd is nil then, and on
// Linux before 5.3. The caller needs the right to trace the process (ptrace(2),
// PTRACE_MODE_ATTACH_FSCREDS): the same user with a dumpable process and, with Yama's ptrace_scope
// 1, a descendant; or CAP_SYS_PTRACE. The error wraps the error of open and contains the PID.
func OpenFiles(pid int) (*Files, error) {
	// All files are opened relative to one descriptor of the directory, which refers to the
	// process and not to its PID: a reused PID gives ESRCH.
	dir, err := openAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, openError(pid, err)
	}
	defer dir.Close()
	f := &Files{}
	// A pidfd opened by PID belongs to the process of the directory if that process still exists
	// afterwards, because the PID cannot be reused before. The success of opening mem shows that.
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		f.Pidfd = os.NewFile(uintptr(fd), "pidfd")
	}
	if f.Mem, err = openAt(int(dir.Fd()), "mem", unix.O_RDWR); err == nil {
		f.Maps, err = openAt(int(dir.Fd()), "maps", unix.O_RDONLY)
	}
	if err != nil {
		return nil, errors.Join(openError(pid, err), f.Close())
	}
	return f, nil
}

func openError(pid int, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("procmem: process %d: %w; opening its memory requires the right to trace it (ptrace(2))",
			pid, err)
	}
	return fmt.Errorf("procmem: process %d: %w", pid, err)
}

func openAt(dir int, name string, flags int) (*os.File, error) {
	for {
		fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// validate refuses files that are not in a proc file system or were opened without the required
// access. A descriptor passed by mistake, such as a pipe, could block an access or receive data.
func (f *Files) validate() error {
	if f.Mem == nil || f.Maps == nil {
		return errors.New("procmem: both Mem and Maps are required; open them with OpenFiles")
	}
	for _, file := range []struct {
		f    *os.File
		name string
		mode int
	}{{f.Mem, "mem", unix.O_RDWR}, {f.Maps, "maps", unix.O_RDONLY}} {
		fd := int(file.f.Fd())
		var fs unix.Statfs_t
		if err := unix.Fstatfs(fd, &fs); err != nil {
			return fmt.Errorf("procmem: %s: %w", file.name, err)
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return fmt.Errorf("procmem: %s: %w", file.name, err)
		}
		switch {
		case fs.Type != unix.PROC_SUPER_MAGIC:
			return fmt.Errorf("procmem: %s: the file is not in a proc file system; pass /proc/PID/%s",
				file.name, file.name)
		case flags&unix.O_PATH != 0 || flags&unix.O_ACCMODE != file.mode:
			return fmt.Errorf(
				"procmem: %s: opened with flags %#x; open mem for reading and writing, maps for reading only",
				file.name, flags)
		}
	}
	return nil
}

// ended reports whether the process of a pidfd has ended: the pidfd is then readable
// (pidfd_open(2)).
func ended(pidfd *os.File) bool {
	p := []unix.PollFd{{Fd: int32(pidfd.Fd()), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 0)
		if err != unix.EINTR {
			return err == nil && n == 1 && p[0].Revents&unix.POLLIN != 0
		}
	}
}
