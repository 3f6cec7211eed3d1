//go:build unix

package control

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockDir keeps two starts from looking at a socket at the same time.
func lockDir(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = d.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another daemon is just starting in %s", dir)
		}
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	return func() { _ = d.Close() }, nil
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
