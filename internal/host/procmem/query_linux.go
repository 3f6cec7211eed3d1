package procmem

import (
	"errors"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// procmapQuery is struct procmap_query (include/uapi/linux/fs.h). The kernel fills the fields
// after addr.
type procmapQuery struct {
	size, queryFlags, addr uint64
	start, end, flags      uint64
	_                      [3]uint64 // page size, file offset, inode
	_                      [4]uint32 // device; sizes of the name and the build ID, 0: not requested
	_                      [2]uint64 // addresses of the name and the build ID
}

const (
	// procmapQueryCall is PROCMAP_QUERY: _IOWR('f', 17, struct procmap_query). Architectures with
	// other direction bits (MIPS, PowerPC, SPARC) return ENOTTY.
	procmapQueryCall = 0xc0686611

	procmapReadable       = 0x01
	procmapWritable       = 0x02
	procmapCoveringOrNext = 0x10
)

// queryMaps returns the first mapping that ends above addr, or io.EOF if there is none, by an
// ioctl on /proc/PID/maps. Before Linux 6.11 the error is errors.ErrUnsupported.
func queryMaps(maps *os.File, addr uint64) (mapping, error) {
	q := procmapQuery{queryFlags: procmapCoveringOrNext, addr: addr}
	q.size = uint64(unsafe.Sizeof(q))
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, maps.Fd(), procmapQueryCall, uintptr(unsafe.Pointer(&q)))
		switch errno {
		case 0:
			read, write := q.flags&procmapReadable != 0, q.flags&procmapWritable != 0
			return mapping{start: q.start, end: q.end, read: read, write: write}, nil
		case unix.EINTR:
		case unix.ENOENT:
			return mapping{}, io.EOF
		case unix.ENOTTY:
			return mapping{}, errors.ErrUnsupported
		default:
			return mapping{}, errno
		}
	}
}
