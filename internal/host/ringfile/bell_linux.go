package ringfile

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// DoorbellOffset is the position in the file, in bytes, from which on the program writes its doorbells: behind all
// rings.
const DoorbellOffset = 1 << 40

// MaxDoorbells is how many bytes of doorbells [File.Doorbells] returns at most. Both halves of the place for
// doorbells are in one page.
const MaxDoorbells = 2048

// bell is the place in the file where the program's doorbells land: one half of it, while the other one is read.
//
// Threads of the program write at once, so what stands at one position says little: the next write may replace it
// before it is read. But they write through one open file description, whose position the kernel moves under a lock
// (f_pos_lock, which it takes for regular files with more than one reference; this process has one). So writes
// follow one another without a gap, and an lseek relative to the current position both takes it to the other half
// and tells, by its result, where the last write has ended. What lies between the first write and that is complete,
// and later writes go to the other half. More than fits into a half is not complete, and may also replace what is
// being read from the other half: then the next turn is not complete. Nor is it where the program moves the
// position itself, which ends where no write could have taken it.
type bell struct {
	program syscall.RawConn // the program's open file description
	half    int64           // that is written to, 0 or 1
	start   int64           // position of the first write to it
	unknown bool            // a write may have landed elsewhere
	refused bool            // the position is refusedAt

	turning func(fd uintptr) // turn, made once
	// Results of turn: the place of what was written since the last turn, and whether that is all there was.
	from, n  int64
	complete bool
}

// origin is the position at which a half begins.
func origin(half int64) int64 { return DoorbellOffset + half*MaxDoorbells }

// init begins with the first half.
func (b *bell) init(program syscall.RawConn) (err error) {
	b.program, b.turning = program, b.turn
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

// refusedAt is the largest position of a file. A write there would end beyond it, which the kernel
// refuses with EINVAL before anything else (rw_verify_area of fs/read_write.c).
const refusedAt = 1<<63 - 1

// refuse moves the position to refusedAt. Files of some file systems have no such position.
func (b *bell) refuse(fd uintptr) error {
	_, err := unix.Seek(int(fd), refusedAt, unix.SEEK_SET)
	b.refused = err == nil
	return err
}

// accept ends that. Doorbells from before refuse may not have been read: the next turn is not
// complete.
func (b *bell) accept(fd uintptr) error {
	b.unknown = true
	return b.begin(fd)
}

// maxBacklog is the distance, in bytes, beyond which the position is taken for one that the program has moved.
const maxBacklog = 1 << 30

// turn moves the position to the other half: to its begin and, beyond that, as far as was written
// to this one. The position at which writes are refused stays.
func (b *bell) turn(fd uintptr) {
	if b.refused {
		b.complete = false
		return
	}
	other := origin(1 - b.half)
	pos, err := unix.Seek(int(fd), other-b.start, unix.SEEK_CUR)
	b.from, b.n = b.start, pos-other
	b.complete = err == nil && !b.unknown && b.n >= 0 && b.from+b.n <= origin(b.half)+MaxDoorbells
	b.half, b.start, b.unknown = 1-b.half, pos, false
	if err != nil || b.n < 0 || b.n > maxBacklog {
		// Of a write before the next call nothing is known. Its own report leads to the next turn.
		b.unknown = true
		_ = b.begin(fd) // with an error the next turn is not complete either
	}
}

// Doorbells returns in p, which has room for [MaxDoorbells] bytes, what the program has written since the last
// call, and whether that is all of it; and makes room, so that doorbells take no more memory of the file. With a
// nil p it only makes room. What the program writes meanwhile is returned by the next call, for which
// [Events.Doorbell] is called. Calls must not overlap. They take as long as a write of the program that is under
// way.
func (f *File) Doorbells(p []byte) (written []byte, complete bool) {
	b := &f.bell
	// After Drop the position cannot be moved.
	if err := b.program.Control(b.turning); err != nil || !b.complete || p == nil {
		return nil, false
	}
	written = p[:b.n]
	if _, err := f.own.ReadAt(written, b.from); err != nil { // the program has truncated the file
		return nil, false
	}
	return written, true
}

// RefuseDoorbells makes writes of the program fail with EINVAL, or no longer. It returns an error
// where the file system of the file cannot, and after [File.Drop]. Calls must not overlap with each
// other or with those of [File.Doorbells], and take as long as a write of the program that is under
// way.
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
