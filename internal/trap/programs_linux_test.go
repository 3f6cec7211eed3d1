//go:build linux && (amd64 || arm64)

package trap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// programs run under the filter, each in a separate process. They return an error for the first
// behaviour that differs from the kernel's.
var programs map[string]func(args []string) error

func init() {
	programs = map[string]func([]string) error{
		"paths":       pathsProgram,
		"hostile":     hostileProgram,
		"stat":        statProgram,
		"descriptors": descriptorsProgram,
		"duplicates":  duplicatesProgram,
		"exhaust":     exhaustProgram,
		"inherit":     inheritProgram,
		"inherited":   inheritedProgram,
		"threads":     threadsProgram,
		"closeall":    closeAllProgram,
		"timer":       timerProgram,
		"park":        parkProgram,
		"nested":      nestedProgram,
		"measure":     measureProgram,
		"supervise":   superviseProgram,
		"abandon":     abandonProgram,
		"orphan":      orphanProgram,
		"begin":       beginProgram,
		"rabbits":     rabbitsProgram,
		"stop":        stopProgram,
		"leaderless":  leaderlessProgram,
		"crowded":     crowdedProgram,
		"exec":        execProgram,
		"slowexec":    slowExecProgram,
		"limit":       limitProgram,
		"open":        openProgram,
		"storm":       stormProgram,
		"mutate":      mutateProgram,
		"slow":        slowProgram,
		"other":       otherMain,
		"block":       blockProgram,
		"stuck":       stuckProgram,
		"beside":      besideProgram,
	}
}

// want returns an error if got is not the expected errno.
func want(what string, got error, errno unix.Errno) error {
	if errno == 0 && got == nil || errors.Is(got, errno) && got != nil {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, errno)
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// verb makes the trapped ioctl and returns the second number.
func verb(fd int, op, value uint64) (uint64, error) {
	var buf [16]byte
	binary.LittleEndian.PutUint64(buf[:], op)
	binary.LittleEndian.PutUint64(buf[8:], value)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), verbsIoctl, uintptr(unsafe.Pointer(&buf)))
	if errno != 0 {
		return 0, errno
	}
	return binary.LittleEndian.Uint64(buf[8:]), nil
}

func mustAdd(fd int) error {
	if got, err := verb(fd, opAdd, 41); err != nil || got != 42 {
		return fmt.Errorf("ioctl on descriptor %d: got %d, %v, want 42", fd, got, err)
	}
	return nil
}

func pathsProgram([]string) error {
	for _, p := range []string{abiPath, "/sys/class//infiniband_verbs/./abi_version",
		"//sys/class/infiniband_verbs/uverbs0/../abi_version"} {
		got, err := os.ReadFile(p)
		if err != nil || string(got) != "6\n" {
			return fmt.Errorf("%s: %q, %v", p, got, err)
		}
	}
	open := func(p string, flags int) error {
		fd, err := unix.Open(p, flags, 0o600)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	names := func(dir string) string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err.Error()
		}
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	if got := names(sysPath); got != "abi_version uverbs0" {
		return fmt.Errorf("names in %s: %s", sysPath, got)
	}
	var st unix.Stat_t
	_, readlink := unix.Readlink(abiPath, make([]byte, 10))
	err := first(
		want("a file that is not in the tree", open(sysPath+"/uverbs1", unix.O_RDONLY), unix.ENOENT),
		want("a root without files", unix.Stat("/sys/class/infiniband_mad", &st), unix.ENOENT),
		want("a file below a file", open(abiPath+"/x", unix.O_RDONLY), unix.ENOTDIR),
		want("a file with a slash", open(abiPath+"/", unix.O_RDONLY), unix.ENOTDIR),
		want("a directory with a slash", open(sysPath+"/", unix.O_RDONLY), 0),
		want("a file as directory", open(abiPath, unix.O_RDONLY|unix.O_DIRECTORY), unix.ENOTDIR),
		want("writing to a file", open(abiPath, unix.O_WRONLY), unix.EACCES),
		want("writing to a directory", open(sysPath, unix.O_WRONLY), unix.EISDIR),
		want("creating a file that exists", open(abiPath, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR), unix.EEXIST),
		want("readlink", readlink, unix.EINVAL),
		want("access", unix.Access(devicePath, unix.R_OK|unix.W_OK), 0),
		want("access to what is not there", unix.Access(sysPath+"/uverbs1", unix.F_OK), unix.ENOENT),
		want("a path of the host", open("/proc/self/status", unix.O_RDONLY), 0),
		want("a path of the host that is not there", open("/proc/self/no", unix.O_RDONLY), unix.ENOENT),
	)
	if err != nil {
		return err
	}
	return relativePaths()
}

func relativePaths() error {
	dir, err := unix.Open("/dev/infiniband", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	fd, err := unix.Openat(dir, "uverbs0", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("openat of a device below a descriptor: %w", err)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		return fmt.Errorf("O_CLOEXEC was lost: %d, %v", flags, err)
	}
	sys, err := unix.Open(sysPath, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	if flags, err = unix.FcntlInt(uintptr(sys), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
		return fmt.Errorf("FD_CLOEXEC came from nowhere: %d, %v", flags, err)
	}
	file, err := unix.Openat(sys, "uverbs0/ibdev", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	var buf [10]byte
	if n, err := unix.Read(file, buf[:]); err != nil || string(buf[:n]) != "rxe0\n" {
		return fmt.Errorf("openat below a descriptor: %q, %v", buf[:n], err)
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if _, err := unix.Openat2(unix.AT_FDCWD, abiPath, &how); err != nil {
		return fmt.Errorf("openat2: %w", err)
	}
	how.Resolve = unix.RESOLVE_BENEATH
	_, err = unix.Openat2(unix.AT_FDCWD, abiPath, &how)
	return first(mustAdd(fd), want("openat2 of an absolute path that may not be one", err, unix.EXDEV))
}

func hostileProgram([]string) error {
	page := os.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	if err := unix.Mprotect(mem[page:], unix.PROT_NONE); err != nil {
		return err
	}
	call := func(nr, a0, a1, a2, a3 uintptr) error {
		_, _, errno := unix.Syscall6(nr, a0, a1, a2, a3, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}
	at := func(p []byte) uintptr { return uintptr(unsafe.Pointer(&p[0])) }
	cwd := ^uintptr(99) // AT_FDCWD
	path := append([]byte(abiPath), 0)
	ends := mem[page-len(path) : page] // at the end of the page
	copy(ends, path)
	long := []byte("/sys/class/infiniband/" + strings.Repeat("x", 5000) + "\x00")
	nearly := []byte("/sys/class/infiniband" + strings.Repeat("/", 4000) + "rxe0\x00")
	var st unix.Stat_t
	out := uintptr(unsafe.Pointer(&st))
	bad := at(mem) + uintptr(page)
	err = first(
		want("a path up to the end of a page", call(unix.SYS_NEWFSTATAT, cwd, at(ends), out, 0), 0),
		want("a path of 4025 bytes", call(unix.SYS_NEWFSTATAT, cwd, at(nearly), out, 0), 0),
		want("a result that cannot be written", call(unix.SYS_NEWFSTATAT, cwd, at(ends), bad, 0), unix.EFAULT),
		want("a statx that cannot be written", call(unix.SYS_STATX, cwd, at(ends), 0, unix.STATX_ALL), unix.EFAULT),
		want("a null path", call(unix.SYS_OPENAT, cwd, 0, 0, 0), unix.EFAULT),
		want("a wild path", call(unix.SYS_OPENAT, cwd, ^uintptr(0)-5, 0, 0), unix.EFAULT),
		want("a kernel address", call(unix.SYS_OPENAT, cwd, 1<<63, 0, 0), unix.EFAULT),
		want("a path of 5000 bytes", call(unix.SYS_OPENAT, cwd, at(long), 0, 0), unix.ENAMETOOLONG),
		want("a wild directory", call(unix.SYS_OPENAT, 12345, at([]byte("x\x00")), 0, 0), unix.EBADF),
		want("a wild directory and our path", call(unix.SYS_OPENAT, 12345, at(path), 0, 0), 0),
		want("an openat2 without flags", call(unix.SYS_OPENAT2, cwd, at(path), bad, 24), unix.EFAULT),
		want("an openat2 that is too short", call(unix.SYS_OPENAT2, cwd, at(path), out, 8), unix.EINVAL),
		want("an empty path", call(unix.SYS_OPENAT, cwd, at([]byte{0}), 0, 0), unix.ENOENT),
	)
	if err != nil {
		return err
	}
	ends[len(ends)-1] = 'x' // no zero before the end
	fd, err := unix.Open(channelPath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	return first(
		want("a path without an end", call(unix.SYS_NEWFSTATAT, cwd, at(ends), out, 0), unix.EFAULT),
		want("an ioctl with a wild pointer", call(unix.SYS_IOCTL, uintptr(fd), verbsIoctl, bad, 0), unix.EFAULT),
		want("an ioctl on a wild descriptor", call(unix.SYS_IOCTL, ^uintptr(0), verbsIoctl, bad, 0), unix.EBADF),
		want("a write with a wild pointer", call(unix.SYS_WRITE, uintptr(fd), bad, 8, 0), unix.EFAULT),
		want("an unknown operation", call(unix.SYS_IOCTL, uintptr(fd), verbsIoctl, at(mem), 0), unix.EINVAL),
	)
}

func statProgram([]string) error {
	fd, err := unix.Open(devicePath, unix.O_RDWR, 0)
	if err != nil {
		return err
	}
	rdev := unix.Mkdev(231, 192)
	check := func(what string, f func(*unix.Stat_t) error) error {
		var st unix.Stat_t
		if err := f(&st); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if st.Mode != unix.S_IFCHR|0o666 || st.Rdev != rdev {
			return fmt.Errorf("%s: mode %o, rdev %x", what, st.Mode, st.Rdev)
		}
		return nil
	}
	checkX := func(what string, at int, p string, flags int) error {
		var st unix.Statx_t
		err := unix.Statx(at, p, flags, unix.STATX_BASIC_STATS, &st)
		if err != nil || st.Mode != unix.S_IFCHR|0o666 || st.Rdev_major != 231 || st.Rdev_minor != 192 {
			return fmt.Errorf("%s: %v, mode %o, rdev %d:%d", what, err, st.Mode, st.Rdev_major, st.Rdev_minor)
		}
		return nil
	}
	err = first(
		check("stat", func(st *unix.Stat_t) error { return unix.Stat(devicePath, st) }),
		check("lstat", func(st *unix.Stat_t) error { return unix.Lstat(devicePath, st) }),
		check("fstatat", func(st *unix.Stat_t) error { return unix.Fstatat(unix.AT_FDCWD, devicePath, st, 0) }),
		check("fstatat with AT_EMPTY_PATH and a path", func(st *unix.Stat_t) error {
			return unix.Fstatat(unix.AT_FDCWD, devicePath, st, unix.AT_EMPTY_PATH)
		}),
		check("fstat", func(st *unix.Stat_t) error { return unix.Fstat(fd, st) }),
		check("fstatat of a descriptor", func(st *unix.Stat_t) error {
			return unix.Fstatat(fd, "", st, unix.AT_EMPTY_PATH)
		}),
		checkX("statx", unix.AT_FDCWD, devicePath, 0),
		checkX("statx of a descriptor", fd, "", unix.AT_EMPTY_PATH),
	)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Stat(abiPath, &st); err != nil || st.Mode != unix.S_IFREG|0o444 || st.Size != 2 {
		return fmt.Errorf("stat of a file: %v, mode %o, size %d", err, st.Mode, st.Size)
	}
	if err := unix.Fstatat(0, "", &st, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("fstatat of standard input: %w", err)
	}
	return nil
}
