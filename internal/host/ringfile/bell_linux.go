package ringfile

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// DoorbellOffset is the file offset in bytes from which the program writes its doorbells, beyond
// all rings.
const DoorbellOffset = 1 << 40

// MaxDoorbells is the maximum number of bytes that [File.Doorbells] returns. Both halves of the
// doorbell area are in one page.
const MaxDoorbells = 2048

// bell is the doorbell area of the file. It has two halves: the program writes to one while this
// process reads the other.
//
// Threads of the program write concurrently, so the bytes at one offset alone mean little: the next
// write may overwrite them before they are read. But all threads write through one open file
// description, whose position the kernel advances under a lock. (The kernel takes this lock,
// f_pos_lock, for regular files with more than one reference; this process holds a second
// reference.) So writes follow one another without a gap, and a single lseek relative to the
// current position both moves the position to the other half and returns where the last write
// ended. The bytes from the first write to that end are complete, and later writes go to the other
// half.
//
// If the program writes more bytes than a half holds, the bytes are not complete. They may also
// overwrite bytes that are being read from the other half: then the next switch is not complete
// either. The same holds if the program moves the position itself to an offset that no write could
// have reached.
type bell struct {
	program       syscall.RawConn // open file description of the program
	half          int64           // half to which the program writes, 0 or 1
	start         int64           // position of the first write to that half
	offsetUnknown bool            // a write may have gone to an unknown offset
	refused       bool            // the position is refusedAt

	switchFunc func(fd uintptr) // b.switchHalf, allocated once
	// Results of switchHalf: from and n are the offset and length of the bytes written since the
	// previous switch; complete means that they are all the bytes written.
	from, n  int64
	complete bool
}

// origin returns the file offset of half 0 or 1.
func origin(half int64) int64 { return DoorbellOffset + half*MaxDoorbells }

// init moves the position of program to the first half.
func (b *bell) init(program syscall.RawConn) (err error) {
	b.program, b.switchFunc = program, b.switchHalf
	if e := program.Control(func(fd uintptr) { err = b.begin(fd) }); e != nil {
		return e
	}
	return err
}

func (b *bell) begin(fd uintptr) error {
	_, err := unix.Seek(int(fd), origin(0), unix.SEEK_SET)
	b.half, b.start, b.refused = 0, origin(0), false
	return err
}

// refusedAt is the largest possible file position. The kernel refuses a write there with EINVAL
// before anything else, because it would end beyond the maximum (rw_verify_area of
// fs/read_write.c).
const refusedAt = 1<<63 - 1

// refuse moves the position to refusedAt. Some file systems do not support that position.
func (b *bell) refuse(fd uintptr) error {
	_, err := unix.Seek(int(fd), refusedAt, unix.SEEK_SET)
	b.refused = err == nil
	return err
}

// accept ends refuse. Doorbells from before refuse may not have been read, so the next switch is
// not complete.
func (b *bell) accept(fd uintptr) error {
	b.offsetUnknown = true
	return b.begin(fd)
}

// maxBacklog is a number of bytes that the program cannot have written since the previous switch:
// if the position advanced further, the program has moved it.
const maxBacklog = 1 << 30

// switchHalf moves the position to the other half: to its start plus the number of bytes written to
// the current half. It does not change the position while doorbells are refused.
func (b *bell) switchHalf(fd uintptr) {
	if b.refused {
		b.complete = false
		return
	}
	other := origin(1 - b.half)
	pos, err := unix.Seek(int(fd), other-b.start, unix.SEEK_CUR)
	b.from, b.n = b.start, pos-other
	b.complete = err == nil && !b.offsetUnknown && b.n >= 0 && b.from+b.n <= origin(b.half)+MaxDoorbells
	b.half, b.start, b.offsetUnknown = 1-b.half, pos, false
	if err != nil || b.n < 0 || b.n > maxBacklog {
		// A write before the position is set again may go to any offset. The report of this write
		// leads to the next switch.
		b.offsetUnknown = true
		_ = b.begin(fd) // after an error the next switch is not complete either
	}
}

// Doorbells reads the bytes that the program has written since the previous call into p, which must
// have [MaxDoorbells] bytes, and returns them. If bytes were lost, written is nil and complete is
// false. Doorbells also frees the area for new doorbells, so that doorbells take no more memory of
// the file; with a nil p it does only that. The next call returns the bytes that the program writes
// during this call; [Events.Doorbell] is called for them. Calls must not overlap. A call waits for
// a write of the program that is in progress.
func (f *File) Doorbells(p []byte) (written []byte, complete bool) {
	b := &f.bell
	// Control fails after Drop.
	if err := b.program.Control(b.switchFunc); err != nil || !b.complete || p == nil {
		return nil, false
	}
	written = p[:b.n]
	if _, err := f.own.ReadAt(written, b.from); err != nil { // fails if the program has truncated the file
		return nil, false
	}
	return written, true
}

// RefuseDoorbells makes writes of the program fail with EINVAL if refuse is true, and allows them
// again if it is false. It returns an error if the file system does not support that, and after
// [File.Drop]. Calls must not overlap with each other or with calls of [File.Doorbells]. A call
// waits for a write of the program that is in progress.
func (f *File) RefuseDoorbells(refuse bool) error {
	b := &f.bell
	if refuse == b.refused {
		return nil
	}
	move := b.accept
	if refuse {
		move = b.refuse
	}
	var err error
	if e := b.program.Control(func(fd uintptr) { err = move(fd) }); e != nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("ringfile: moving the position of doorbells: %w", err)
	}
	return nil
}
