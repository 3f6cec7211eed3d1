package record

import "os"

// file is a file that tracks its length in bytes.
type file struct {
	*os.File
	path string
	len  int64
}

func create(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &file{File: f, path: path}, nil
}

func (f *file) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	f.len += int64(n)
	return n, err
}

// rotate renames the file and creates a new one under the original name.
func (f *file) rotate() error {
	if err := f.File.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.path, f.path+".1"); err != nil {
		return err
	}
	next, err := create(f.path)
	if err == nil {
		*f = *next
	}
	return err
}
