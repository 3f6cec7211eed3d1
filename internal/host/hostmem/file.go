package hostmem

import (
	"fmt"
	"io/fs"
	"strings"
)

// FileOptions say how a file or shared memory is opened.
type FileOptions struct {
	// Size is how many bytes from the start are taken, from 1. 0 stands for all of an existing
	// file. A file that has fewer is refused; it is not made longer.
	Size uint64
	// ReadOnly opens for reading only. A region on it is registered without LOCAL_WRITE.
	ReadOnly bool
	// Create makes the file, of Size zeros, if there is none. Its space is taken from the disk
	// at once where the file system can do that, so that no later write finds the disk full.
	// The holes of an existing file stay holes until they are written.
	Create bool
	// Mode is the permission bits of a file that is made, whatever the umask; 0 stands for
	// 0600. An existing file keeps its own.
	Mode fs.FileMode
}

// validate says what is wrong with the options of the file called name.
func (o *FileOptions) validate(name string) error {
	switch {
	case o.Mode&^fs.ModePerm != 0:
		return fmt.Errorf("hostmem: %s: mode %#o; permission bits 0 to 0777 only", name, uint32(o.Mode))
	case o.Create && o.ReadOnly:
		return fmt.Errorf("hostmem: %s: a file cannot be made for reading only; clear Create or ReadOnly", name)
	case o.Create && o.Size == 0:
		return fmt.Errorf("hostmem: %s: a file that may have to be made needs a size", name)
	}
	return nil
}

const (
	sharedDir  = "/dev/shm"
	maxNameLen = 255
)

// sharedPath returns the file that shm_open means by name.
func sharedPath(name string) (string, error) {
	n := strings.TrimPrefix(name, "/")
	if n == "" || n == "." || n == ".." || len(n) > maxNameLen || strings.ContainsAny(n, "/\x00") {
		return "", fmt.Errorf("hostmem: shared memory %q: a name has 1 to %d bytes and no slash but a leading one", name, maxNameLen)
	}
	return sharedDir + "/" + n, nil
}
