package ringfile

import (
	"errors"
	"fmt"
	"syscall"
)

// maxForeign is the most memory of a file, in bytes, that is not of rings. Doorbells take some if they are not
// answered for long.
const maxForeign = 256 << 20

// Errors of [File.Intact].
var (
	ErrPunched  = errors.New("ringfile: the program has taken memory out of the rings")
	ErrOversize = errors.New("ringfile: the program has stored too much in the file")
)

// Intact returns an error if the program has punched holes into the rings or truncated the file, or has stored much
// in it. No program of libibverbs does. An access to a ring waits for a hole that is being punched over it
// (shmem_fault of mm/shmem.c), some second for each GiB of the file that goes with it. The check takes as long as
// fstat(2): it compares the size of the memory, so a hole that is filled again is not found.
func (f *File) Intact() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.own.Stat() // not by the descriptor: Close may come meanwhile
	if err != nil {
		return nil // it is closed
	}
	switch has := info.Sys().(*syscall.Stat_t).Blocks * 512; {
	case has < f.backed:
		return fmt.Errorf("%w: %d bytes of %d are left", ErrPunched, has, f.backed)
	case has > f.used+maxForeign:
		return fmt.Errorf("%w: %d bytes beside rings of %d bytes, the limit is %d", ErrOversize, has-f.used, f.used, maxForeign)
	}
	return nil
}
