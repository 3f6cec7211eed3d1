//go:build linux && (amd64 || arm64)

package keeper

import "syscall"

// Kind is the kind of a message of the keeper.
type Kind byte

// Kinds of messages, in the order in which they come. [Listener] and [Started] come with a
// descriptor. After an error the keeper ends.
const (
	Listener Kind = 'l' // of the filter
	Filter   Kind = 'f' // error: errno of seccomp(2)
	Exec     Kind = 'x' // error: errno of fork or execve
	Usage    Kind = 'u' // error: errno of anything before
	Started  Kind = 's' // PID of the program, and its pidfd
	Ended    Kind = 'e' // wait status of the program
)

// A Message is sent by the keeper to the supervisor. Its end without [Ended] means that it was killed.
type Message struct {
	Kind  Kind
	Value uint32
}

// MessageSize is the length of a message on the socket, which preserves the borders of messages.
const MessageSize = 5

// Decode reads a message, false if it is none.
func (m *Message) Decode(p []byte) bool {
	if len(p) != MessageSize {
		return false
	}
	m.Kind, m.Value = Kind(p[0]), uint32(number(p[1:]))
	return true
}

// send sends a message, with a descriptor unless fd is negative. A supervisor that has ended is
// noticed elsewhere.
func send(socket int, kind Kind, value uint32, fd int) {
	p := appendNumber([]byte{byte(kind)}, uint64(value), 4)
	var rights []byte
	if fd >= 0 {
		rights = syscall.UnixRights(fd)
	}
	for syscall.Sendmsg(socket, p, rights, nil, syscall.MSG_NOSIGNAL) == syscall.EINTR {
	}
}
