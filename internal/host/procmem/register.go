package procmem

import (
	"errors"
	"io"
	"math"

	"github.com/gorxe/gorxe/mr"
)

// writing holds the access flags for which the kernel requires writable pages
// (include/rdma/ib_verbs.h, ib_access_writable).
const writing = mr.LocalWrite | mr.RemoteWrite | mr.RemoteAtomic | mr.MWBind

// Region returns the length bytes at addr as memory for a region with the given access. Every
// page must be mapped and readable and, if access includes LOCAL_WRITE, REMOTE_WRITE,
// REMOTE_ATOMIC or MW_BIND, writable. Pages need not be present: an access faults them in. The
// error is an [*Error] of kind BadRange, Unmapped, NotReadable, NotWritable, Inaccessible, Gone,
// Closed or System.
func (s *AddressSpace) Region(addr, length uint64, access mr.Access) (*Region, error) {
	if s.closed.Load() || !s.acquire() {
		return nil, s.error(opRegister, Closed, addr, length, addr, nil)
	}
	write := access&writing != 0
	if err := s.check(addr, length, write); err != nil {
		s.release()
		return nil, err
	}
	return &Region{space: s, addr: addr, size: length, readOnly: !write}, nil
}

// check makes the checks of Region. After the check of /proc/PID/maps it reads the first byte
// through /proc/PID/mem: this detects pages that are listed in maps but cannot be accessed, and an
// address space that is gone.
func (s *AddressSpace) check(addr, length uint64, write bool) error {
	end := addr + length
	if length == 0 || end < addr {
		return s.error(opRegister, BadRange, addr, length, addr, nil)
	}
	at, k, err := s.lookUp(addr, end, write)
	if gone, _ := s.gone(); gone {
		return s.error(opRegister, Gone, addr, length, addr, nil)
	}
	if k == 0 && end > maxAddress {
		at, k = maxAddress, Unmapped
	}
	if k != 0 {
		return s.error(opRegister, k, addr, length, at, err)
	}
	if err := s.move(opRegister, false, make([]byte, 1), addr); err != nil {
		return s.failed(opRegister, addr, length, addr, err.(*Error).Err)
	}
	return nil
}

// lookUp calls checkMaps with the maps of the process. It queries the kernel once for each mapping
// of the range. If the kernel does not support such queries, lookUp reads the text of all mappings
// up to the end of the range.
func (s *AddressSpace) lookUp(addr, end uint64, write bool) (at uint64, k Kind, err error) {
	if !s.textMaps.Load() {
		at, k, err = checkMaps(func(addr uint64) (mapping, error) { return queryMaps(s.files.Maps, addr) },
			addr, end, write)
		if !errors.Is(err, errors.ErrUnsupported) {
			return at, k, err
		}
		s.textMaps.Store(true)
	}
	s.mapsMu.Lock()
	defer s.mapsMu.Unlock()
	text := newMapsReader(io.NewSectionReader(s.files.Maps, 0, math.MaxInt64))
	return checkMaps(text.above, addr, end, write)
}
