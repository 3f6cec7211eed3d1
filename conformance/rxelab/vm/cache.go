package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// doneFile describes a directory of the cache. It is written last, so its presence means that the
// directory is complete.
const doneFile = "package"

// fetched returns what open finds in dir, a directory below the cache. If there is nothing, fill
// first makes it from packages of a Debian suite, in a temporary directory that is then renamed:
// other processes see it complete or not at all.
func fetched[T any](cache, dir, suite string, open func() (T, error), fill func(a *apt, dir string) error) (T, error) {
	found, err := open()
	if !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return found, err
	}
	work, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return found, err
	}
	defer os.RemoveAll(work)
	a, err := newApt(work, suite)
	if err != nil {
		return found, err
	}
	ready := filepath.Join(work, "ready")
	if err := fill(a, ready); err != nil {
		return found, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return found, err
	}
	if err := os.Rename(ready, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return found, err
	}
	return open()
}

// unpackDeb unpacks a package file below root.
func unpackDeb(ctx context.Context, deb, root string) error {
	if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", deb, root).CombinedOutput(); err != nil {
		return fmt.Errorf("dpkg-deb -x %s: %w: %s", deb, err, out)
	}
	return nil
}
