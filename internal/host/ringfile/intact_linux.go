package ringfile

import (
	"errors"
	"fmt"
	"syscall"
)

// maxForeign is the maximum memory of a file, in bytes, that does not belong to rings. Doorbells
// take some if they are not answered for a long time.
const maxForeign = 256 << 20

// Errors of [File.Intact].
var (
	ErrPunched  = errors.New("ringfile: the program has taken memory out of the rings")
	ErrOversize = errors.New("ringfile: the program has stored too much in the file")
)

// Intact returns an error if the program has punched holes into the rings, truncated the file, or
// stored too much in it. Programs that use only libibverbs do none of this. While a hole is being
// punched over a ring, an access to the ring waits (shmem_fault of mm/shmem.c), about a second for
// each GiB of the hole. The check costs one fstat(2): it compares the size of the memory, so it
// does not detect a hole that is filled again.
func (f *File) Intact() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.own.Stat() // not fstat with f.own.Fd(): Close may run concurrently
	if err != nil {
		return nil // the file is closed
	}
	switch has := info.Sys().(*syscall.Stat_t).Blocks * 512; {
	case has < f.backed:
		return fmt.Errorf("%w: %d bytes of %d are left", ErrPunched, has, f.backed)
	case has > f.used+maxForeign:
		return fmt.Errorf("%w: %d bytes beside rings of %d bytes, the limit is %d",
			ErrOversize, has-f.used, f.used, maxForeign)
	}
	return nil
}
