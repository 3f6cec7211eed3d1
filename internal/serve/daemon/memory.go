package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorxe/gorxe/internal/host/hostmem"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
)

// openMemory opens the memory of a region, with the rights that peers need. A file or shared
// memory object that is not there is made if its size is known.
func openMemory(r *config.Region) (*hostmem.Memory, error) {
	if r.Kind == "anonymous" {
		return hostmem.Anonymous(r.Size)
	}
	m, err := openFile(r, fileOptions(r))
	if errors.Is(err, fs.ErrNotExist) && r.Size > 0 {
		o := fileOptions(r)
		o.ReadOnly, o.Create = false, true
		return openFile(r, o)
	}
	return m, err
}

// fileOptions are those of a file that is there: what peers only read is opened for reading only.
func fileOptions(r *config.Region) hostmem.FileOptions {
	return hostmem.FileOptions{Size: r.Size, Mode: r.Mode, ReadOnly: len(r.Access) == 1 && r.Access[0] == "read"}
}

func openFile(r *config.Region, o hostmem.FileOptions) (*hostmem.Memory, error) {
	if r.Kind == "shm" {
		return hostmem.Shared(r.Path, o)
	}
	return hostmem.File(r.Path, o)
}

// lookAt says what is wrong with the memory of a region, and whether it has to be made; it makes
// nothing. What the rules of the configuration refuse is left to them.
func lookAt(r *config.Region) (made bool, err error) {
	if r.Kind == "anonymous" {
		return false, available(r.Size)
	}
	if r.Path == "" || r.Kind == "shm" && strings.Contains(r.Path, "/") {
		return false, nil
	}
	m, err := openFile(r, fileOptions(r))
	switch {
	case err == nil:
		return false, m.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return false, errors.New(strings.TrimPrefix(err.Error(), "hostmem: "))
	case r.Size == 0:
		return false, fmt.Errorf("%s is not there: give a size, and it is made", r.Path)
	}
	if err := hostmem.Mappable(r.Size); err != nil {
		return false, errors.New(strings.TrimPrefix(err.Error(), "hostmem: "))
	}
	if r.Kind == "file" {
		info, err := os.Stat(filepath.Dir(r.Path))
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no directory", filepath.Dir(r.Path))
		}
		return err == nil, err
	}
	return true, nil
}

// available returns an error unless the process can have size bytes of anonymous memory. It has them
// for a moment and uses none of them, which takes no memory.
func available(size uint64) error {
	if size == 0 {
		return nil
	}
	m, err := hostmem.Anonymous(size)
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "hostmem: "))
	}
	return m.Close()
}

// printRegions tells people of the regions.
func (p *Plan) printRegions(w io.Writer) {
	if len(p.Regions) > 0 {
		fmt.Fprintf(w, "regions: port %d, at most %d connections of a device, %d of one host\n", p.Export.Port, p.Export.MaxConns, p.Export.MaxPerPeer)
	}
	for i, r := range p.Regions {
		what := r.Kind
		if r.Path != "" {
			what += " " + r.Path
		}
		if p.Made[i] {
			what += fmt.Sprintf(" (to be made, mode %04o)", uint32(r.Mode))
		}
		length := config.Size(r.Size)
		if r.Size == 0 {
			length = "the whole of it"
		}
		fmt.Fprintf(w, "region %s: %s, %s, %s, peers: %s\n", r.Name, what, length, strings.Join(r.Access, " and "), orElse(joined(r.Peers), "all of the device"))
	}
}
