package socket

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// sendWait is how long the messages of one system call wait for room. A link of 10 Mbit/s sends
// half of the buffer that hosts give to programs without privileges, 416 KiB, in 0.2 s. A goroutine
// that needs a lock of the sender waits no longer than that.
const sendWait = time.Second

// sendQueue is the messages of one system call, and how far they have gone.
type sendQueue struct {
	sendmmsg func(fd uintptr, msgs []mmsghdr) (int, unix.Errno)
	deadline func(time.Time) error // SetWriteDeadline of the socket
	write    func(fd uintptr) bool // writeReady, made once

	msgs        []mmsghdr
	meta        []sendMeta
	count, next int        // messages built, and how many of them are done with
	calls       int        // system calls made
	errno       unix.Errno // why message next was refused
	full, waits bool       // there was no room, and writeReady is to wait for some
}

func (t *sendQueue) init(send func(uintptr, []mmsghdr) (int, unix.Errno), deadline func(time.Time) error) {
	t.sendmmsg, t.deadline, t.write = send, deadline, t.writeReady
	t.msgs, t.meta = make([]mmsghdr, sendMessages), make([]sendMeta, sendMessages)
}

// writeReady sends messages until all are gone, one is refused or there is no room. It returns false to wait for some.
func (t *sendQueue) writeReady(fd uintptr) bool {
	for t.next < t.count {
		n, errno := t.sendmmsg(fd, t.msgs[t.next:t.count])
		t.calls++
		switch errno {
		case 0:
			t.next += n
		case unix.EINTR:
		case unix.EAGAIN:
			t.full = true
			return !t.waits
		default:
			t.errno = errno
			return true
		}
	}
	return true
}

// push sends the messages from next on, as far as they are not refused. It waits for room, but for
// sendWait only: then full is true.
func (t *sendQueue) push(conn syscall.RawConn) (full bool, err error) {
	t.errno, t.full, t.waits = 0, false, false
	if err := conn.Write(t.write); err != nil || !t.full {
		return false, err
	}
	// A deadline takes longer to set than a datagram to send, and room is there nearly always.
	if err := t.deadline(time.Now().Add(sendWait)); err != nil {
		return false, err
	}
	t.waits = true
	err = conn.Write(t.write)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		full, err = true, nil
	case err != nil:
		return false, err
	}
	return full, t.deadline(time.Time{})
}

// drop gives up the messages that are left and returns how many frames they have.
func (t *sendQueue) drop(b *packet.Batch) (frames uint64) {
	for ; t.next < t.count; t.next++ {
		m := &t.meta[t.next]
		frames += uint64(m.frames + m.left)
		b.Sent = m.end()
	}
	return frames
}
