package procmem

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// ownerOf returns the user that a file belongs to, -1 with an error.
func ownerOf(f *os.File) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return -1, err
	}
	return int(st.Uid), nil
}

// vectors are the arguments of a direct copy.
type vectors struct {
	local  [maxPieces]unix.Iovec
	remote [1]unix.RemoteIovec
}

var vectorPool = sync.Pool{New: func() any { return new(vectors) }}

// transfer copies the pieces, of size bytes together, in one system call and returns how many bytes it copied. denied
// says that the kernel permits no such copy.
func transfer(pid int, write bool, pieces [][]byte, size int, addr uint64) (n int, denied bool) {
	v := vectorPool.Get().(*vectors)
	defer vectorPool.Put(v)
	local := v.local[:0]
	for _, p := range pieces {
		if len(p) > 0 {
			i := unix.Iovec{Base: &p[0]}
			i.SetLen(len(p))
			local = append(local, i)
		}
	}
	v.remote[0] = unix.RemoteIovec{Base: uintptr(addr), Len: size}
	var err error
	if write {
		n, err = unix.ProcessVMWritev(pid, local, v.remote[:], 0)
	} else {
		n, err = unix.ProcessVMReadv(pid, local, v.remote[:], 0)
	}
	clear(local) // keeps nothing alive
	return max(n, 0), err == unix.EPERM || err == unix.ENOSYS
}
