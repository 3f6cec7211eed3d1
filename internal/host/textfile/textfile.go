// Package textfile reads the small files that people write for a program, such as its configuration.
//
// A path may be a FIFO, which is waited for until somebody writes to it, and a signal that asks the
// program to end does not end that wait. So a file is opened without waiting, and what is not a
// regular file is refused. Streams that the program was started with (/dev/stdin, and /dev/fd/63 as
// a shell makes it of <(...)) are read as they come, until the context ends.
package textfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Read returns what a file has, but not more than limit+1 bytes: the caller finds out whether it is
// too long. ctx ends the wait for a stream.
func Read(ctx context.Context, path string, limit int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !isStream(path) {
		i, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if !i.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is %s, not a regular file: give one, or /dev/stdin and write to the standard input", path, kindOf(i.Mode()))
		}
	}
	// What has no deadlines does not make its reader wait.
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return data, err
}

// isStream reports whether a path names what the program has open already.
func isStream(path string) bool {
	path = filepath.ToSlash(filepath.Clean(path))
	dir := filepath.ToSlash(filepath.Dir(path))
	return path == "/dev/stdin" || dir == "/dev/fd" || dir == "/proc/self/fd"
}

// kindOf names what is not a regular file.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	}
	return "a device or socket"
}
