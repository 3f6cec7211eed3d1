package tracecmd

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// files tracks the regular files that a trace reads and writes. No file may be used twice:
// writing to the capture would destroy it, and two outputs in one file would destroy each other.
// They are compared as open files, because a file may have several names, and standard input has
// none.
type files struct {
	used    []usedFile
	created []*os.File
}

type usedFile struct {
	what string
	info os.FileInfo
}

// use records that f, if it is a regular file, is used as what.
func (s *files) use(f any, what string) {
	if f, ok := f.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			s.used = append(s.used, usedFile{what, info})
		}
	}
}

// create opens or creates the file that a flag names. It does not truncate the file; empty does.
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
			return nil, errors.Join(fmt.Errorf("%s %s: that is %s; name another file", flag, name, u.what),
				file.Close())
		}
	}
	s.created = append(s.created, file)
	s.use(file, "what "+flag+" writes")
	return file, nil
}

// empty truncates the created files, after all are known to be different.
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

// abandon closes the created files without truncating them.
func (s *files) abandon() {
	for _, file := range s.created {
		_ = file.Close()
	}
}

// input records the file that the capture is read from.
func (s *files) input(r io.Reader) { s.use(r, "the capture itself") }
