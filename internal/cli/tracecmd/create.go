package tracecmd

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// files are the regular files that a trace reads and writes. Each is for one purpose: writing to the capture would destroy it, and
// two outputs in one file would destroy each other. They are compared as open files, because a file has many names, and
// standard input has none.
type files struct {
	used    []usedFile
	created []*os.File
}

type usedFile struct {
	what string
	info os.FileInfo
}

// use notes that f, where it is a file, is what it is said to be.
func (s *files) use(f any, what string) {
	if f, ok := f.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			s.used = append(s.used, usedFile{what, info})
		}
	}
}

// create opens the file that a flag names, or makes it. What is in it stays until empty.
func (s *files) create(flag, name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", flag, err), file.Close())
	}
	for _, u := range s.used {
		if os.SameFile(u.info, info) {
			return nil, errors.Join(fmt.Errorf("%s %s: that is %s; name another file", flag, name, u.what), file.Close())
		}
	}
	s.created = append(s.created, file)
	s.use(file, "what "+flag+" writes")
	return file, nil
}

// empty empties the files that were created, now that all are known to be different.
func (s *files) empty() error {
	for _, file := range s.created {
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() {
			err = file.Truncate(0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// abandon closes the files that were created. What was in them is still there.
func (s *files) abandon() {
	for _, file := range s.created {
		_ = file.Close()
	}
}

// input notes what the capture is read from.
func (s *files) input(r io.Reader) { s.use(r, "the capture itself") }
