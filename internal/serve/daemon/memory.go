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

// openMemory opens the memory of a region, with the permissions that the rights of peers require.
// A missing file or shared memory object is created if its size is known.
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

// fileOptions returns the options to open an existing file: read-only if peers can only read it.
func fileOptions(r *config.Region) hostmem.FileOptions {
	return hostmem.FileOptions{Size: r.Size, Mode: r.Mode, ReadOnly: len(r.Access) == 1 && r.Access[0] == "read"}
}

func openFile(r *config.Region, o hostmem.FileOptions) (*hostmem.Memory, error) {
	if r.Kind == "shm" {
		return hostmem.Shared(r.Path, o)
	}
	return hostmem.File(r.Path, o)
}

// checkMemory returns whether the memory of a region must be created, or why it cannot be used; it
// creates nothing. Mistakes that Check reports are ignored here.
func checkMemory(r *config.Region) (made bool, err error) {
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

// available returns an error unless the process can allocate size bytes of anonymous memory. It
// maps them without touching them, which uses no memory.
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

// printRegions prints the regions.
func (p *Plan) printRegions(w io.Writer) {
	if len(p.Regions) > 0 {
		fmt.Fprintf(w, "regions: port %d, at most %d connections of a device, %d of one host\n", p.Export.Port,
			p.Export.MaxConns, p.Export.MaxPerPeer)
	}
	for i, r := range p.Regions {
		what := r.Kind
		if r.Path != "" {
			what += " " + r.Path
		}
		if p.RegionToCreate[i] {
			what += fmt.Sprintf(" (will be created, mode %04o)", uint32(r.Mode))
		}
		length := config.Size(r.Size)
		if r.Size == 0 {
			length = "its file size"
		}
		fmt.Fprintf(w, "region %s: %s, %s, %s, peers: %s\n", r.Name, what, length, strings.Join(r.Access, " and "),
			orElse(joined(r.Peers), "all of the device"))
	}
}
