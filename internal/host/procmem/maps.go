package procmem

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// A mapping holds the parsed fields of one line of /proc/PID/maps.
type mapping struct {
	start, end  uint64 // end is exclusive
	read, write bool
}

// mapsReader reads /proc/PID/maps line by line (proc_pid_maps(5)). It parses only the addresses
// and the permissions: the program controls the path at the end of a line.
type mapsReader struct {
	r    *bufio.Reader
	last uint64 // end of the previous mapping
}

// mapsBuffer is larger than the parsed prefix of any line: two addresses of 16 digits.
const mapsBuffer = 4096

func newMapsReader(r io.Reader) *mapsReader {
	return &mapsReader{r: bufio.NewReaderSize(r, mapsBuffer)}
}

// next returns the next mapping, or io.EOF after the last one. A line that does not have the
// kernel's format, or that is not above the previous line, is an error.
func (m *mapsReader) next() (mapping, error) {
	line, err := m.r.ReadSlice('\n')
	if err == io.EOF && len(line) == 0 {
		return mapping{}, io.EOF
	}
	v, ok := parseMapping(line)
	for err == bufio.ErrBufferFull { // skip a long path
		_, err = m.r.ReadSlice('\n')
	}
	switch {
	case err != nil && err != io.EOF:
		return mapping{}, err
	case !ok:
		return mapping{}, fmt.Errorf("procmem: maps: a line that is not ADDRESS-ADDRESS PERMISSIONS: %.80q", line)
	case v.start < m.last:
		return mapping{}, fmt.Errorf("procmem: maps: mapping at %#x behind one that ends at %#x", v.start, m.last)
	}
	m.last = v.end
	return v, nil
}

// parseMapping parses the start of a line, such as "7f0000000000-7f0000001000 rw-p ". ok is false
// if the format is wrong.
func parseMapping(line []byte) (v mapping, ok bool) {
	addrs, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return v, false
	}
	first, second, ok := bytes.Cut(addrs, []byte{'-'})
	if !ok || len(rest) < 5 || rest[4] != ' ' {
		return v, false
	}
	start, err1 := strconv.ParseUint(string(first), 16, 64)
	end, err2 := strconv.ParseUint(string(second), 16, 64)
	if err1 != nil || err2 != nil || start >= end {
		return v, false
	}
	for i, set := range []byte("rwx") {
		if rest[i] != set && rest[i] != '-' {
			return v, false
		}
	}
	return mapping{start: start, end: end, read: rest[0] == 'r', write: rest[1] == 'w'}, true
}

// above returns the first mapping that ends above addr, or io.EOF if there is none. A call
// continues where the previous one ended, so addr must increase.
func (m *mapsReader) above(addr uint64) (mapping, error) {
	for {
		if v, err := m.next(); err != nil || v.end > addr {
			return v, err
		}
	}
}

// checkMaps checks that [addr, end) is mapped without a gap, readable and, with write, writable. If
// not, it returns the first address that fails the check and the Kind of the fault, otherwise end
// and 0. If the Kind is [System], err is the error of above. above returns the first mapping that
// ends above an address, or io.EOF.
func checkMaps(above func(addr uint64) (mapping, error), addr, end uint64, write bool) (at uint64, k Kind, err error) {
	for at = addr; at < end; {
		v, err := above(at)
		switch {
		case err == io.EOF:
			return at, Unmapped, nil
		case err != nil:
			return at, System, err
		case v.start > at:
			return at, Unmapped, nil
		case !v.read:
			return at, NotReadable, nil
		case write && !v.write:
			return at, NotWritable, nil
		}
		at = v.end
	}
	return end, 0, nil
}
