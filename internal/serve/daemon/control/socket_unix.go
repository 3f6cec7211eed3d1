//go:build unix

package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock keeps two starts from looking at a socket at the same time. It takes a lock (flock) on a
// file of its own, which this user alone may open: whoever can open a file can lock it, a directory
// too. The file is removed before it is unlocked. So a start that has waited for it, or opened
// it too early, finds another file at that path, or none, and begins again.
func lock(path string) (unlock func(), err error) {
	path += ".lock"
	for range lockTries {
		f, err := lockFile(path)
		if err != nil {
			return nil, err
		}
		if there, err := isAt(f, path); err != nil || !there {
			_ = f.Close()
			if err != nil {
				return nil, err
			}
			continue
		}
		return func() {
			_ = os.Remove(path)
			_ = f.Close()
		}, nil
	}
	return nil, fmt.Errorf("other daemons are just starting at %s", path)
}

// lockTries is how many other starts may come first.
const lockTries = 100

// lockFile opens and locks the file at path, which it makes if it is not there. It follows no
// symbolic link, waits for no FIFO, and refuses a file that another user may open or that has
// another name: in a directory in which others can write, they could have made it.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: remove the file, or choose another place with --control-socket", err)
	}
	err = ownFile(f)
	if err == nil {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("another daemon is just starting: it has locked %s", path)
		} else if err != nil {
			err = fmt.Errorf("locking %s: %w", path, err)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ownFile returns an error unless f is a regular file that this user alone may open. A file that was
// removed meanwhile has no name: isAt tells.
func ownFile(f *os.File) error {
	i, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	if !ok || !i.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || i.Mode().Perm()&0o077 != 0 || st.Nlink > 1 {
		return fmt.Errorf("%s is not a file that this user alone can open: remove it, or choose another place with --control-socket", f.Name())
	}
	return nil
}

// isAt reports whether f is the file at path.
func isAt(f *os.File, path string) (bool, error) {
	i, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(i, there), err
}

// private sees to it that a directory is not somebody else's: it may be below one in which
// everybody can make things.
func private(dir string) error {
	i, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	if !ok || !i.IsDir() || int(st.Uid) != os.Geteuid() || i.Mode()&0o022 != 0 {
		return fmt.Errorf("%s is not a directory in which this user alone can write: remove it", dir)
	}
	return nil
}
