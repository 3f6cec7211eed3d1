package ownedtemp

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A Dir is a temporary directory of this process. It is locked until Close.
type Dir struct {
	Path string
	lock *os.File
}

// Make makes a directory in the directory place; its name begins with prefix. Make also removes
// directories with this prefix that ended processes have left there.
//
// A directory is locked while it is in use. Before the new directory is locked, another process may
// mistake it for a directory left behind and remove it; Make then makes another one.
func Make(place, prefix string) (*Dir, error) {
	place, err := filepath.EvalSymlinks(place)
	if err != nil {
		return nil, err
	}
	removeStale(place, prefix)
	for {
		path, err := os.MkdirTemp(place, prefix)
		if err != nil {
			return nil, err
		}
		f, err := lock(path)
		switch {
		case err == nil:
			return &Dir{path, f}, nil
		case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.ENOENT):
		default:
			return nil, errors.Join(err, os.Remove(path))
		}
	}
}

func removeStale(place, prefix string) {
	stale, _ := filepath.Glob(filepath.Join(place, prefix+"*"))
	for _, path := range stale {
		if f, err := lock(path); err == nil {
			_ = os.RemoveAll(path)
			_ = f.Close()
		}
	}
}

// lock locks a directory of this user without waiting. It fails with EWOULDBLOCK if the directory
// is in use, and with ENOENT if it was removed meanwhile.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	var opened, there unix.Stat_t
	err = errors.Join(unix.Fstat(int(f.Fd()), &opened), unix.Lstat(path, &there))
	if err == nil && (opened.Ino != there.Ino || opened.Dev != there.Dev) {
		err = unix.ENOENT
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close removes the directory.
func (d *Dir) Close() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }
