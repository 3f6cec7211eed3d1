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

// lock serializes the starts of daemons at a socket. It locks (flock) a separate file that only
// this user can open, because anyone who can open a file can lock it, and a directory too. The
// file is removed before it is unlocked. A start that has waited for the lock, or opened the file
// too early, therefore finds another file at that path, or none, and retries.
func (k *socketKind) lock(path string) (unlock func(), err error) {
	path += ".lock"
	for range lockTries {
		f, err := k.lockFile(path)
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

// lockTries is the maximum number of tries. Each concurrent start of a daemon can cost one.
const lockTries = 100

// lockFile opens and locks the file at path, and creates it if it does not exist. It does not
// follow symbolic links or block on a FIFO, and rejects a file that another user may open or that
// has another name: in a directory in which other users can write, they could have created it.
func (k *socketKind) lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%w: remove the file, or choose another place with %s", err, k.flag)
	}
	err = k.ownFile(f)
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

// ownFile returns an error unless f is a regular file that only this user can open. isAt detects
// a file that was removed meanwhile, which has no name.
func (k *socketKind) ownFile(f *os.File) error {
	i, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	if !ok || !i.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || i.Mode().Perm()&0o077 != 0 || st.Nlink > 1 {
		return fmt.Errorf("%s is not a file that this user alone can open: remove it, or choose another place with %s",
			f.Name(), k.flag)
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

// private returns an error unless dir is a directory in which only this user can write. Its parent
// can be a directory such as /tmp, in which everyone can create files.
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
