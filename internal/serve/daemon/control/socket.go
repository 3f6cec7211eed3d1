package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/netns"
)

// systemSocket is the control socket of root's daemon.
const systemSocket = "/run/gorxe/control.sock"

// DefaultSocket returns the default control socket of a daemon of this user: in the directory
// that systemd created for a service with RuntimeDirectory=, or in one of the user.
func DefaultSocket() string {
	if dir, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "control.sock")
	}
	if os.Geteuid() == 0 {
		return systemSocket
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "gorxe", "control.sock")
	}
	return filepath.Join(os.TempDir(), "gorxe-"+strconv.Itoa(os.Geteuid()), "control.sock")
}

// FindSocket returns the default socket of a client: that of this user if it exists, else that of
// a daemon that 'gorxe run' has started, preferably in this network namespace, else root's. It
// returns an error if there are several such daemons, or if other users can write where this
// user's socket would be, as in a directory of theirs under /tmp.
func FindSocket() (string, error) {
	own := DefaultSocket()
	_, err := os.Lstat(filepath.Dir(own))
	if err == nil && own != systemSocket {
		if err := private(filepath.Dir(own)); err != nil {
			return own, fmt.Errorf("control socket %s: %w, or name the daemon's with --socket", own, err)
		}
	}
	if _, err := os.Stat(own); errors.Is(err, fs.ErrNotExist) {
		started := listening(StartedSocket("*", "*"))
		if ns, err := netns.ID(); err == nil {
			if here := listening(StartedSocket("*", ns)); len(here) > 0 {
				started = here
			}
		}
		switch len(started) {
		case 0:
		case 1:
			return started[0], nil
		default:
			return own, fmt.Errorf("'gorxe run' has started several daemons: name one with --socket: %s",
				strings.Join(started, ", "))
		}
		if _, err := os.Stat(systemSocket); err == nil {
			return systemSocket, nil
		}
	}
	return own, nil
}

// StartedSocket returns the control socket of the daemon that 'gorxe run' starts for a device in
// a network namespace. A user's daemons in different namespaces share the directory, and their
// interfaces may have the same name.
func StartedSocket(device, netns string) string {
	return filepath.Join(filepath.Dir(DefaultSocket()), "control-"+device+"-"+netns+".sock")
}

// listening returns the sockets that match a pattern and accept connections.
func listening(pattern string) (out []string) {
	all, _ := filepath.Glob(pattern) // the pattern is valid
	for _, path := range all {
		if c, err := net.Dial("unix", path); err == nil {
			_ = c.Close()
			out = append(out, path)
		}
	}
	return out
}

// ErrInUse means that another program has the socket open.
var ErrInUse = errors.New("another process has it open")

// maxSocketPath is the maximum length of a socket path in bytes: the kernel's limit is 108 with
// the final zero on Linux, 104 on other systems.
const maxSocketPath = 100

// A socketKind holds the differences between the sockets of a daemon.
type socketKind struct {
	network string
	name    string // for display
	flag    string // flag that sets the path
}

var (
	controlSocket  = socketKind{"unix", "control socket", "--control-socket"}
	programsSocket = socketKind{"unixpacket", "programs socket", "--programs-socket"}
)

// ListenPrograms is [Listen] for the socket of 'gorxe run', which preserves message boundaries
// (SOCK_SEQPACKET).
func ListenPrograms(path string, mode fs.FileMode, gid int) (net.Listener, error) {
	return programsSocket.listen(path, mode, gid)
}

// Listen creates the socket at path, with the given mode and, unless gid is negative, group. The
// socket appears with both, so that no other user can connect before. A socket file of a killed
// process is replaced; if another process has it open, the error is [ErrInUse]. A missing
// directory is created: /run/gorxe readable by all, others only by this user. Closing the
// listener removes the file. Meanwhile a file with the additional suffix .lock is locked: see
// lock.
func Listen(path string, mode fs.FileMode, gid int) (net.Listener, error) {
	return controlSocket.listen(path, mode, gid)
}

func (k *socketKind) listen(path string, mode fs.FileMode, gid int) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%s %s: its path has %d bytes, sockets can have %d: choose a shorter one with %s",
			k.name, path, len(path), maxSocketPath, k.flag)
	}
	dir := filepath.Dir(path)
	if err := k.makeDir(dir); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.name, path, err)
	}
	unlock, err := k.lock(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.name, path, err)
	}
	defer unlock()
	if err := k.removeStale(path); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.name, path, err)
	}
	l, err := k.place(path, mode, gid)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.name, path, err)
	}
	return l, nil
}

// OwnDir returns the directory of the sockets of this user's daemons, and creates it. It returns
// an error if other users can write there.
func OwnDir() (string, error) {
	dir := filepath.Dir(DefaultSocket())
	return dir, controlSocket.makeDir(dir)
}

// SystemPrograms is the programs socket of root's daemon.
const SystemPrograms = "/run/gorxe/programs.sock"

// ProgramsSocket returns the programs socket of a daemon with a control socket: programs.sock for
// control.sock, with the same rest of the name; any other name gets the suffix .programs.
func ProgramsSocket(control string) string {
	dir, name := filepath.Split(control)
	if rest, ok := strings.CutPrefix(name, "control"); ok && strings.HasSuffix(name, ".sock") {
		return dir + "programs" + rest
	}
	return control + ".programs"
}

func (k *socketKind) makeDir(dir string) error {
	perm := fs.FileMode(0o700)
	if dir == filepath.Dir(systemSocket) {
		perm = 0o755
	}
	if err := os.MkdirAll(dir, perm); err != nil {
		return fmt.Errorf("%w: choose another place with %s", err, k.flag)
	}
	if dir == filepath.Dir(DefaultSocket()) {
		return private(dir)
	}
	return nil
}

// removeStale removes a socket file that no process has open.
func (k *socketKind) removeStale(path string) error {
	i, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case i.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("there is a file that is no socket: remove it or choose another place with %s", k.flag)
	}
	c, err := net.Dial(k.network, path)
	if err == nil {
		_ = c.Close()
		return ErrInUse
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w, or hangs: %w", ErrInUse, err)
	}
	return os.Remove(path)
}

// place creates the socket in its own directory and moves it to path.
func (k *socketKind) place(path string, mode fs.FileMode, gid int) (_ net.Listener, err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(path), ".g")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	inside := filepath.Join(tmp, "s")
	u, err := net.ListenUnix(k.network, &net.UnixAddr{Name: inside, Net: k.network})
	if err != nil {
		return nil, err
	}
	u.SetUnlinkOnClose(false)
	defer func() {
		if err != nil {
			_ = u.Close()
		}
	}()
	if err := os.Chmod(inside, mode); err != nil {
		return nil, err
	}
	if gid >= 0 {
		if err := os.Chown(inside, -1, gid); err != nil {
			return nil, fmt.Errorf("%w: only a member of the group, or root, can give it the socket", err)
		}
	}
	if err := os.Rename(inside, path); err != nil {
		return nil, err
	}
	i, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return &listener{u, path, i}, nil
}

// listener removes its socket file when it is closed, unless the file has been replaced.
type listener struct {
	*net.UnixListener
	path string
	file fs.FileInfo
}

func (l *listener) Close() error {
	if i, err := os.Lstat(l.path); err == nil && os.SameFile(i, l.file) {
		_ = os.Remove(l.path)
	}
	return l.UnixListener.Close()
}
