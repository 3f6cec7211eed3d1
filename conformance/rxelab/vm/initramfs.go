package vm

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// archive writes a cpio archive in the "newc" format, which the kernel unpacks as its initial
// root file system (Documentation/driver-api/early-userspace/buffer-format.rst).
type archive struct {
	w    io.Writer
	ino  uint32
	size int64
	dirs map[string]bool
	err  error
}

const (
	modeDir  = 0o040755
	modeExec = 0o100755
	modeFile = 0o100644
)

func newArchive(w io.Writer) *archive { return &archive{w: w, dirs: map[string]bool{}} }

// add writes a file, preceded by its missing parent directories.
func (a *archive) add(name string, mode uint32, data []byte) {
	name = strings.TrimPrefix(name, "/")
	a.mkdir(path.Dir(name))
	a.entry(name, mode, data)
}

func (a *archive) mkdir(name string) {
	if name == "." || a.dirs[name] {
		return
	}
	a.mkdir(path.Dir(name))
	a.dirs[name] = true
	a.entry(name, modeDir, nil)
}

// close writes the trailer and returns the first write error.
func (a *archive) close() error {
	a.entry("TRAILER!!!", 0, nil)
	return a.err
}

// entry writes the header (magic and 13 fields of 8 hexadecimal digits), the name and the data,
// each padded to 4 bytes.
func (a *archive) entry(name string, mode uint32, data []byte) {
	a.ino++
	links := uint32(1)
	if mode == modeDir {
		links = 2
	}
	fields := [13]uint32{0: a.ino, 1: mode, 4: links, 6: uint32(len(data)), 11: uint32(len(name) + 1)}
	var head strings.Builder
	head.WriteString("070701")
	for _, f := range fields {
		fmt.Fprintf(&head, "%08X", f)
	}
	head.WriteString(name + "\x00")
	a.write([]byte(head.String()))
	a.pad()
	a.write(data)
	a.pad()
}

func (a *archive) pad() { a.write(make([]byte, -a.size&3)) }

func (a *archive) write(b []byte) {
	if a.err != nil {
		return
	}
	n, err := a.w.Write(b)
	a.size += int64(n)
	a.err = err
}
