package socket

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// sendWait limits how long the messages of one system call wait for buffer space. Half of the
// buffer of an unprivileged process, 416 KiB, takes 0.2 s on a link of 10 Mbit/s. sendWait also
// limits how long other goroutines wait for a lock of the sender.
const sendWait = time.Second

// sendQueue holds the messages of one sendmmsg call and counts how many were sent.
type sendQueue struct {
	sendmmsg func(fd uintptr, msgs []mmsghdr) (int, unix.Errno)
	deadline func(time.Time) error // SetWriteDeadline of the socket
	write    func(fd uintptr) bool // writeReady, as a func value allocated once

	msgs        []mmsghdr
	meta        []sendMeta
	count, next int        // messages built, messages processed
	calls       int        // system calls that Stats does not count yet
	errno       unix.Errno // why message next was rejected
	full, waits bool       // the buffer is full; writeReady waits for space
}

func (t *sendQueue) init(send func(uintptr, []mmsghdr) (int, unix.Errno), deadline func(time.Time) error) {
	t.sendmmsg, t.deadline, t.write = send, deadline, t.writeReady
	t.msgs, t.meta = make([]mmsghdr, sendMessages), make([]sendMeta, sendMessages)
}

// writeReady sends messages until all are sent, one is rejected, or the buffer is full. It
// returns false to wait for space.
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

// push sends the messages from next on, up to the first message that the kernel rejects. It waits
// up to sendWait for buffer space, and then returns full = true.
func (t *sendQueue) push(conn syscall.RawConn) (full bool, err error) {
	t.errno, t.full, t.waits = 0, false, false
	if err := conn.Write(t.write); err != nil || !t.full {
		return false, err
	}
	// A deadline is set only now, because setting it takes longer than sending a datagram, and
	// nearly always there is space.
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

// drop drops the remaining messages and returns the number of their frames.
func (t *sendQueue) drop(b *packet.Batch) (frames uint64) {
	for ; t.next < t.count; t.next++ {
		m := &t.meta[t.next]
		frames += uint64(m.frames + m.dropped)
		b.Sent = m.end()
	}
	return frames
}
