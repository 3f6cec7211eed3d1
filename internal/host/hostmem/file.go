package hostmem

import (
	"fmt"
	"io/fs"
	"strings"
)

// FileOptions configure how a file or shared memory is opened.
type FileOptions struct {
	// Size is the number of bytes to map from the start of the file; 0 maps the whole of an
	// existing file. A shorter file is an error; it is not extended.
	Size uint64
	// ReadOnly opens the file for reading only. A region on it must be registered without
	// LOCAL_WRITE.
	ReadOnly bool
	// Create creates the file with Size zero bytes if it does not exist. The disk space of the new
	// file is allocated immediately if the file system supports that, so that no later write fails
	// because the disk is full. Holes of an existing file are allocated when they are written.
	Create bool
	// Mode is the permission bits of a file that is created, regardless of the umask; 0: 0600. An
	// existing file keeps its mode.
	Mode fs.FileMode
}

// validate returns an error if the options of the file called name are invalid.
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

// sharedPath returns the path of the file that shm_open(3) opens for name.
func sharedPath(name string) (string, error) {
	n := strings.TrimPrefix(name, "/")
	if n == "" || n == "." || n == ".." || len(n) > maxNameLen || strings.ContainsAny(n, "/\x00") {
		return "", fmt.Errorf("hostmem: shared memory %q: a name has 1 to %d bytes and no slash but a leading one",
			name, maxNameLen)
	}
	return sharedDir + "/" + n, nil
}
