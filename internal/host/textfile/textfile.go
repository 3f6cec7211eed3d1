// Package textfile reads small files that users write for a program, such as its configuration.
//
// A path may be a FIFO. A blocking open of a FIFO waits for a writer, and a signal that asks the
// program to end does not end that wait. So [Read] opens a file without blocking and refuses
// anything except a regular file. Streams that the program was started with are read until their
// end, or until the context ends: /dev/stdin, and paths such as /dev/fd/63, into which a shell
// turns the <(...) of a command line.
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

// Read returns the content of a file, but at most limit+1 bytes, so the caller can detect a file of
// more than limit bytes. The end of ctx ends the wait for a stream.
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
			return nil, fmt.Errorf(
				"%s is %s, not a regular file: give one, or /dev/stdin and write to the standard input", path,
				kindOf(i.Mode()))
		}
	}
	// Files that do not support deadlines do not block a read.
	defer context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = context.Cause(ctx)
	}
	return data, err
}

// isStream reports whether a path names a file that the process already has open.
func isStream(path string) bool {
	path = filepath.ToSlash(filepath.Clean(path))
	dir := filepath.ToSlash(filepath.Dir(path))
	return path == "/dev/stdin" || dir == "/dev/fd" || dir == "/proc/self/fd"
}

// kindOf returns a description of the kind of a file that is not regular.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	}
	return "a device or socket"
}
