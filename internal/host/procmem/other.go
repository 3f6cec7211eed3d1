//go:build !linux

package procmem

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/gorxe/gorxe/mr"
)

var errUnsupported = fmt.Errorf("procmem: memory of other processes: %w on %s; it requires Linux",
	errors.ErrUnsupported, runtime.GOOS)

// OpenFiles returns an error: it needs Linux.
func OpenFiles(int) (*Files, error) { return nil, errUnsupported }

func (f *Files) validate() error { return errUnsupported }

func openMemory(*os.File) memory { return nil }

func ownerOf(*os.File) (int, error) { return -1, errUnsupported }

func (*direct) one(bool, []byte, uint64) bool { return false }

func (*direct) write([]mr.Piece, uint64) int { return 0 }

func ended(*os.File) bool { return false }

func queryMaps(*os.File, uint64) (mapping, error) { return mapping{}, errUnsupported }
