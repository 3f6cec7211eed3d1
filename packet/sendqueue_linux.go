package packet

import "golang.org/x/sys/unix"

// sendQueue is the messages of one system call, and how far they have gone.
type sendQueue struct {
	sendmmsg func(fd uintptr, msgs []mmsghdr) (int, unix.Errno)
	write    func(fd uintptr) bool // writeReady, made once

	msgs        []mmsghdr
	count, next int        // messages built, and how many of them are done with
	calls       int        // system calls made
	errno       unix.Errno // why message next was refused
}

func (t *sendQueue) init(send func(uintptr, []mmsghdr) (int, unix.Errno)) {
	t.sendmmsg, t.write, t.msgs = send, t.writeReady, make([]mmsghdr, sendMessages)
}

// writeReady sends messages until all are gone or one is refused. It returns false to wait for room.
func (t *sendQueue) writeReady(fd uintptr) bool {
	for t.next < t.count {
		n, errno := t.sendmmsg(fd, t.msgs[t.next:t.count])
		t.calls++
		switch errno {
		case 0:
			t.next += n
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			t.errno = errno
			return true
		}
	}
	return true
}
