package broker

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/procmem"
	"golang.org/x/sys/unix"
)

// A sender is the user at the other end of a connection, as the kernel reports it (SO_PEERCRED).
type sender struct{ uid uint32 }

// Indexes of the descriptors in OPEN.
const (
	fileDir  = iota // directory /proc/PID of the process that opens the device
	fileMem         // its file mem, opened for reading and writing
	fileMaps        // its file maps
	numOpenFiles
)

// program is a verified process.
type program struct {
	pid   int    // in the PID namespace of the sender's /proc
	name  string // of the executable, up to 15 bytes
	files *procmem.Files
}

// verify checks the descriptors of OPEN, which it owns, and returns the program's memory.
//
// Reads and writes of the memory must access the address space of a process, and must not block
// except for its pages. It is not enough that a file is in a proc file system (fstatfs): some
// files below /proc/sys and /proc/PID check the rights of the writing process, which is the
// server here. Nor is its path, because a user can mount any file at any path of their own mount
// namespace. verify therefore compares mem and maps with the entries "mem" and "maps" of the
// directory, which must be in a proc file system; the lookup crosses no mount and follows no
// link. Below /proc, only the directories of processes and threads have an entry "mem".
//
// mem and maps must belong to the sender, unless the sender is root. So the kernel has checked that
// the sender may open them, and a user cannot pass on a descriptor that leaked from another user.
//
// Calls on files of a FUSE file system may block for as long as its owner wants: the caller works
// only for this sender.
func verify(files []int, from sender) (_ *program, err error) {
	f := &procmem.Files{
		Mem: os.NewFile(uintptr(files[fileMem]), "mem"), Maps: os.NewFile(uintptr(files[fileMaps]), "maps"),
	}
	dir := files[fileDir]
	defer unix.Close(dir)
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(dir, &fs); err != nil {
		return nil, fmt.Errorf("broker: the directory of a process: %w", err)
	}
	if fs.Type != unix.PROC_SUPER_MAGIC {
		return nil, fmt.Errorf("broker: the directory of a process is not in a proc file system: %w", unix.EPERM)
	}
	for i, name := range map[int]string{fileMem: "mem", fileMaps: "maps"} {
		if err := isEntry(files[i], dir, name, from); err != nil {
			return nil, err
		}
	}
	p := &program{files: f}
	if p.pid, p.name, err = identify(dir); err != nil {
		return nil, err
	}
	f.Pidfd = openOwn(p.pid, dir)
	return p, nil
}

// openOwn returns a pidfd of the process with the directory dir if pid is also its number in the
// PID namespace of this process, else nil: /proc/PID must then be the same directory. The
// directories are compared after pidfd_open(2): if they are equal, the process still has the PID,
// so the pidfd refers to this process.
func openOwn(pid, dir int) *os.File {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil
	}
	var own, its unix.Stat_t
	if errors.Join(unix.Stat(fmt.Sprintf("/proc/%d", pid), &own), unix.Fstat(dir, &its)) != nil ||
		own.Dev != its.Dev || own.Ino != its.Ino {
		_ = unix.Close(fd)
		return nil
	}
	return os.NewFile(uintptr(fd), "pidfd")
}

// isEntry checks that fd is the file called name in a directory of a proc file system.
func isEntry(fd, dir int, name string, from sender) error {
	path, err := openEntry(dir, name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(path)
	var want, is unix.Stat_t
	if err := errors.Join(unix.Fstat(path, &want), unix.Fstat(fd, &is)); err != nil {
		return fmt.Errorf("broker: %s of a process: %w", name, err)
	}
	switch {
	case want.Mode&unix.S_IFMT != unix.S_IFREG || is.Dev != want.Dev || is.Ino != want.Ino:
		return fmt.Errorf("broker: a descriptor is not %s of the process: %w", name, unix.EPERM)
	case is.Uid != from.uid && from.uid != 0:
		return fmt.Errorf("broker: %s is that of a process of user %d, the sender is user %d: %w",
			name, is.Uid, from.uid, unix.EPERM)
	}
	return nil
}

// openEntry opens an entry of a directory, without crossing a mount or following a link.
func openEntry(dir int, name string, flags uint64) (int, error) {
	how := &unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(dir, name, how)
	for err == unix.EINTR {
		fd, err = unix.Openat2(dir, name, how)
	}
	if err != nil {
		return -1, fmt.Errorf("broker: %s of a process: %w", name, err)
	}
	return fd, nil
}

// identify reads the PID and the name of a process. The program chooses its name, so only
// printable characters are kept.
func identify(dir int) (pid int, name string, err error) {
	fd, err := openEntry(dir, "stat", unix.O_RDONLY)
	if err != nil {
		return 0, "", err
	}
	f := os.NewFile(uintptr(fd), "stat")
	defer f.Close()
	var b [512]byte
	n, err := f.Read(b[:])
	if err != nil {
		return 0, "", fmt.Errorf("broker: stat of a process: %w", err)
	}
	return parseStat(b[:n])
}

func parseStat(text []byte) (pid int, name string, err error) {
	number, rest, ok := bytes.Cut(text, []byte(" ("))
	end := bytes.LastIndexByte(rest, ')')
	if pid, err = strconv.Atoi(string(number)); !ok || end < 0 || err != nil {
		return 0, "", fmt.Errorf("broker: stat of a process begins with %.80q: %w", text, syscall.EINVAL)
	}
	name = strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return '?'
	}, string(rest[:end]))
	return pid, name, nil
}
