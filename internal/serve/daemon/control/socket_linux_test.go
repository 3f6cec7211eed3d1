package control

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/host/netns"
	"golang.org/x/sys/unix"
)

// dir returns a directory with a short name, accessible to all users: the path of a socket must
// be short.
func dir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("", "gx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(d) })
	if err := os.Chmod(d, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

func listen(t *testing.T, path string, mode fs.FileMode) net.Listener {
	t.Helper()
	l, err := Listen(path, mode, -1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestTheSocketHasItsModeAndGoesWithItsListener(t *testing.T) {
	d := dir(t)
	path := filepath.Join(d, "made", "on", "the", "way", "s")
	for _, mode := range []fs.FileMode{0o600, 0o660, 0o666} {
		l := listen(t, path, mode)
		i, err := os.Lstat(path)
		if err != nil || i.Mode() != fs.ModeSocket|mode {
			t.Errorf("%v, %v; want %v", i.Mode(), err, mode)
		}
		if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
			t.Errorf("beside the socket there are %v", left)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the file is left: %v", err)
		}
	}
	if i, err := os.Stat(filepath.Join(d, "made")); err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("the directory made on the way: %v, %v", i.Mode(), err)
	}
}

func TestASocketThatSomebodyAnswersAtIsNotTaken(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	first := listen(t, path, 0o600)
	if _, err := Listen(path, 0o600, -1); !errors.Is(err, ErrInUse) {
		t.Errorf("error %v, want %v", err, ErrInUse)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the first one does not answer any more: %v", err)
	}
	c.Close()
	first.Close()
}

// A killed process leaves its socket file, which is replaced.
func TestASocketOfADeadProcessIsReplaced(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	u, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	u.SetUnlinkOnClose(false)
	u.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
	listen(t, path, 0o600)
	if c, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		c.Close()
	}
}

// Of many daemons that start concurrently over the socket file of a killed process, one gets it.
func TestOneOfManyStartsGetsTheSocket(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	u, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	u.SetUnlinkOnClose(false)
	u.Close()
	var all sync.WaitGroup
	var mu sync.Mutex
	var got []net.Listener
	for range 16 {
		all.Go(func() {
			l, err := Listen(path, 0o600, -1)
			if err != nil {
				if !errors.Is(err, ErrInUse) && !strings.Contains(err.Error(), "another daemon is just starting") {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			got = append(got, l)
			mu.Unlock()
		})
	}
	all.Wait()
	if len(got) != 1 {
		t.Errorf("%d have the socket, want 1", len(got))
	}
	for _, l := range got {
		l.Close()
	}
}

// A listener that closes does not remove a file that has replaced its own.
func TestAListenerRemovesItsOwnFileOnly(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	first := listen(t, path, 0o600)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	listen(t, path, 0o600)
	first.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the second one's file: %v", err)
	}
}

func TestWhereNoSocketCanBe(t *testing.T) {
	d := dir(t)
	if err := os.WriteFile(filepath.Join(d, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(d,
			"file"): "there is a file that is no socket: remove it or choose another place",
		filepath.Join(d, "file", "s"):                 "not a directory: choose another place with --control-socket",
		filepath.Join(d, strings.Repeat("x", 100)):    "sockets can have 100: choose a shorter one",
		filepath.Join("/proc/self/nothing/here", "s"): "choose another place with --control-socket",
	} {
		if _, err := Listen(path, 0o600, -1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(d, "file")); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

// Another user may have created a directory in a place where all can write.
func TestTheDefaultDirectoryMustBelongToTheUser(t *testing.T) {
	d := dir(t)
	if err := private(d); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(d, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := private(d); err == nil {
		t.Error("one in which others can write is taken")
	}
	if err := os.Symlink("/", filepath.Join(d, "link")); err != nil {
		t.Fatal(err)
	}
	if err := private(filepath.Join(d, "link")); err == nil {
		t.Error("a link to somebody else's is taken")
	}
}

func TestDefaultSocket(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/1000")
	want := "/run/user/1000/gorxe/control.sock"
	if os.Geteuid() == 0 {
		want = "/run/gorxe/control.sock"
	}
	t.Setenv("RUNTIME_DIRECTORY", "")
	if got := DefaultSocket(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	t.Setenv("RUNTIME_DIRECTORY", "/run/nic:/run/more")
	if got := DefaultSocket(); got != "/run/nic/control.sock" {
		t.Errorf("of a service: %s", got)
	}
}

func TestADaemonOfThisNetworkNamespaceIsFoundBeforeOneOfAnother(t *testing.T) {
	t.Setenv("RUNTIME_DIRECTORY", dir(t))
	ns, err := netns.ID()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{StartedSocket("eth0", "1"), StartedSocket("eth1", ns)} {
		listen(t, path, 0o600)
		if got, err := FindSocket(); got != path || err != nil {
			t.Errorf("%s, %v; want %s", got, err, path)
		}
	}
	listen(t, StartedSocket("eth0", ns), 0o600)
	if got, err := FindSocket(); err == nil {
		t.Errorf("there are two in this namespace: %s", got)
	}
}

func TestASocketWhereOthersCanWriteIsNotFound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("RUNTIME_DIRECTORY", dir)
	if got, err := FindSocket(); err != nil || got != filepath.Join(dir, "control.sock") {
		t.Errorf("in a directory of this user: %s, %v", got, err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := FindSocket(); err == nil {
		t.Errorf("in one in which others can write: %s", got)
	}
	theirs := filepath.Join(t.TempDir(), "theirs")
	if err := os.Mkdir(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RUNTIME_DIRECTORY", theirs)
	if err := os.Chown(theirs, 1, 1); err != nil {
		t.Skip("to give a directory to another user takes root")
	}
	if got, err := FindSocket(); err == nil {
		t.Errorf("in another user's directory: %s", got)
	}
}

// as runs f on a thread with the rights of another user and group.
func as(t *testing.T, uid, gid int, f func() error) error {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("to be another user takes root")
	}
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		// Raw system calls, because they affect only this thread.
		if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); e != 0 {
			result <- e
			return
		}
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); e != 0 {
			result <- e
			return
		}
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); e != 0 {
			result <- e
			return
		}
		result <- f()
	}()
	return <-result
}

// connect opens a connection on this thread.
func connect(path string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: path})
}

func TestUsersWithoutTheRightCannotConnect(t *testing.T) {
	const nobody, group, stranger = 65534, 54321, 54322
	path := filepath.Join(dir(t), "s")
	try := func(uid, gid int) error { return as(t, uid, gid, func() error { return connect(path) }) }

	l := listen(t, path, 0o600)
	for _, gid := range []int{0, group} {
		if err := try(nobody, gid); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("another user at mode 0600: %v, want %v", err, fs.ErrPermission)
		}
	}
	l.Close()

	l, err := Listen(path, 0o660, group)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := try(nobody, group); err != nil {
		t.Errorf("one of the group at mode 0660: %v", err)
	}
	if err := try(nobody, stranger); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("one of no group at mode 0660: %v, want %v", err, fs.ErrPermission)
	}
}

func TestAGroupThatOneIsNotInCannotHaveTheSocket(t *testing.T) {
	d := dir(t)
	if err := os.Chmod(d, 0o777); err != nil {
		t.Fatal(err)
	}
	err := as(t, 65534, 65534, func() error {
		_, err := Listen(filepath.Join(d, "s"), 0o660, 54321)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "only a member of the group, or root, can give it the socket") {
		t.Error(err)
	}
}

func TestAClientSaysWhatToDo(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	var v Status
	err := NewClient(path, nil).Get(t.Context(), "/v1/status", nil, &v)
	if want := "no gorxe daemon answers at " + path +
		": start one with 'gorxe daemon', or name its socket with --socket"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if text := (&Client{socket: path}).explain(syscall.EACCES).Error(); !strings.Contains(text,
		"permission denied: run as the user of the daemon") {
		t.Error(text)
	}

	l := listen(t, path, 0o600)
	go http.Serve(l, &Server{Status: func() Status { return Status{PID: 7} }})
	c := NewClient(path, nil)
	if err := c.Get(t.Context(), "/v1/status", nil, &v); err != nil || v.PID != 7 {
		t.Errorf("%+v, %v", v, err)
	}
	if err := c.Get(t.Context(), "/v1/nothing", nil, &v); err == nil ||
		!strings.HasPrefix(err.Error(), `unknown path "/v1/nothing"; known:`) {
		t.Error(err)
	}
	if err := c.Put(t.Context(), "/v1/log", Log{"loud"}); err == nil ||
		err.Error() != `level: invalid value "loud": use debug, info, warn or error` {
		t.Error(err)
	}
}
