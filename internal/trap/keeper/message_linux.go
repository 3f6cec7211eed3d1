//go:build linux && (amd64 || arm64)

package keeper

import "syscall"

// Kind is the kind of a message of the keeper.
type Kind byte

// Kinds of messages, in the order in which they are sent. [Listener] and [Started] carry a
// descriptor. The keeper ends after an error.
const (
	Listener Kind = 'l' // descriptor of the filter's listener
	Filter   Kind = 'f' // error: errno of prctl(2) or seccomp(2)
	Exec     Kind = 'x' // error: errno of fork or execve
	Usage    Kind = 'u' // error before the installation of the filter: errno
	Started  Kind = 's' // PID of the program, with its pidfd
	Ended    Kind = 'e' // wait status of the program
)

// A Message is sent by the keeper to the supervisor. If the socket closes before [Ended], the
// keeper was killed.
type Message struct {
	Kind  Kind
	Value uint32 // meaning as described for the kinds; 0 with Listener
}

// MessageSize is the length of a message. The socket preserves message boundaries.
const MessageSize = 5

// Decode decodes a message. It returns false if the length is wrong.
func (m *Message) Decode(p []byte) bool {
	if len(p) != MessageSize {
		return false
	}
	m.Kind, m.Value = Kind(p[0]), uint32(number(p[1:]))
	return true
}

// send sends a message, with a descriptor unless fd is negative. It ignores errors: watch detects
// the end of the supervisor.
func send(socket int, kind Kind, value uint32, fd int) {
	p := appendNumber([]byte{byte(kind)}, uint64(value), 4)
	var rights []byte
	if fd >= 0 {
		rights = syscall.UnixRights(fd)
	}
	for syscall.Sendmsg(socket, p, rights, nil, syscall.MSG_NOSIGNAL) == syscall.EINTR {
	}
}
