package control

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// Anyone who can open a directory can lock it, which must not keep a daemon from its socket.
func TestALockOnTheDirectoryKeepsNoDaemonFromStarting(t *testing.T) {
	d := dir(t)
	f, err := os.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	listen(t, filepath.Join(d, "s"), 0o600)
}

// While a daemon starts, other users cannot open the lock file, which is removed afterwards.
func TestTheLockIsForThisUserAlone(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	unlock, err := controlSocket.lock(path)
	if err != nil {
		t.Fatal(err)
	}
	i, err := os.Lstat(path + ".lock")
	if err != nil || i.Mode() != 0o600 {
		t.Errorf("the file is %v, %v; want mode 0600", i, err)
	}
	if _, err := Listen(path, 0o600, -1); err == nil ||
		!strings.Contains(err.Error(), "another daemon is just starting") {
		t.Errorf("a second start: %v", err)
	}
	unlock()
	if _, err := os.Lstat(path + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	listen(t, path, 0o600)
}

// The lock file of a killed daemon is reused.
func TestAFileThatIsLeftOfALockIsTaken(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listen(t, path, 0o600)
}

// A file that other users could have created is not followed, waited for or removed.
func TestALockIsNotTakenOnWhatOthersCanOpen(t *testing.T) {
	file := func(path string, mode os.FileMode) error { return os.WriteFile(path, nil, mode) }
	for name, prepare := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(path+".there", path) },
		"a link to a file": func(path string) error {
			return errors.Join(file(path+".x", 0o600), os.Symlink(path+".x", path))
		},
		"a FIFO":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a file of two names": func(path string) error {
			return errors.Join(file(path+".x", 0o600), os.Link(path+".x", path))
		},
		"a file that all read": func(path string) error { return file(path, 0o644) },
		"a file of another user": func(path string) error {
			return errors.Join(file(path, 0o600), os.Chown(path, 1, 1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir(t), "s")
			if err := prepare(path + ".lock"); errors.Is(err, os.ErrPermission) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			_, err := Listen(path, 0o600, -1)
			if err == nil || !strings.Contains(err.Error(), "remove") ||
				!strings.Contains(err.Error(), "choose another place with --control-socket") {
				t.Errorf("error %v does not say what to do", err)
			}
			if _, err := os.Lstat(path + ".lock"); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(path + ".lock.there"); err == nil {
				t.Error("the link was followed")
			}
		})
	}
}

// In any sequence of starts, one at a time has the lock.
func TestOneStartAtATimeHasTheLock(t *testing.T) {
	path := filepath.Join(dir(t), "s")
	var inside, had atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				unlock, err := controlSocket.lock(path)
				if err != nil {
					continue
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				had.Add(1)
				inside.Add(-1)
				unlock()
			}
		})
	}
	all.Wait()
	if had.Load() == 0 {
		t.Error("nobody had the lock")
	}
}

// The advice names the flag of the socket that is opened.
func TestTheAdviceOfALockNamesTheFlagOfItsSocket(t *testing.T) {
	for _, k := range []*socketKind{&controlSocket, &programsSocket} {
		path := filepath.Join(dir(t), "s")
		if err := os.WriteFile(path+".lock", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path+".lock", 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := k.lock(path); err == nil || !strings.Contains(err.Error(), "choose another place with "+k.flag) {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}
