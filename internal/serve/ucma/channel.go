//go:build linux

package ucma

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/gorxe/gorxe/internal/host/hangup"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// A Channel is an open rdma_cm device of a program (struct ucma_file): commands are written to it, and it is readable
// while an event waits.
//
// The program has the read end of a pipe, the channel only the write end: so it hears of the end of the last duplicate.
type Channel struct {
	server  *Server
	fd      int           // write end, not blocking
	theirs  *os.File      // read end, until Program
	watch   *hangup.Watch // nil: none
	onClose func(*Channel)
	// resolves has a token for each of its addresses that is being resolved.
	resolves chan struct{}

	// What follows is guarded by Server.mu.
	closed  bool
	ids     map[uint32]*ident
	groups  int      // multicast groups of its identifiers
	queue   []*event // oldest first
	raised  bool     // a byte is in the pipe
	waiters []*waiter
}

// Open answers an open of the device's file. onClose is called once, when the channel has ended; it may be nil.
func (s *Server) Open(onClose func(*Channel)) (*Channel, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("ucma: a channel: %w", err)
	}
	ch := &Channel{
		server: s, fd: p[1], theirs: os.NewFile(uintptr(p[0]), "rdma_cm"), onClose: onClose,
		resolves: make(chan struct{}, maxChannelResolves), ids: map[uint32]*ident{},
	}
	// Only our end must not block: the program chooses for its own.
	err := unix.SetNonblock(ch.fd, true)
	s.mu.Lock()
	if s.channels == nil {
		err = errors.Join(err, fmt.Errorf("ucma: %w", verbs.ErrClosed))
	} else {
		s.channels[ch] = struct{}{}
	}
	s.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, ch.Close())
	}
	return ch, nil
}

// Program calls give with the descriptor that the program gets a duplicate of, once. The channel ends with the
// program's last duplicate, or if give fails.
func (ch *Channel) Program(give func(fd int) error) error {
	err := give(int(ch.theirs.Fd()))
	err = errors.Join(err, ch.theirs.Close())
	if err == nil {
		s := ch.server
		s.mu.Lock()
		defer s.mu.Unlock()
		if ch.closed {
			return nil
		}
		// The watcher's goroutine must not wait.
		if ch.watch, err = s.hangups.Add(ch.fd, func() { go ch.Close() }, nil); err == nil {
			return nil
		}
		go ch.Close()
		return err
	}
	return errors.Join(err, ch.Close())
}

// Close ends the channel and its identifiers. A thread that waits in it for an event goes on waiting, as in the kernel,
// where it keeps the file open. Closing again does nothing.
func (ch *Channel) Close() error {
	s := ch.server
	s.mu.Lock()
	if ch.closed {
		s.mu.Unlock()
		return nil
	}
	ch.closed = true
	delete(s.channels, ch)
	s.queued -= len(ch.queue)
	ch.queue = nil // first, so that no identifier looks for its events
	for _, i := range slices.Collect(maps.Values(ch.ids)) {
		i.destroy()
	}
	if ch.watch != nil {
		ch.watch.Remove()
	}
	err := unix.Close(ch.fd)
	s.mu.Unlock()
	if e := ch.theirs.Close(); e != nil && !errors.Is(e, os.ErrClosed) {
		err = errors.Join(err, e)
	}
	if ch.onClose != nil {
		ch.onClose(ch)
	}
	return err
}

// signal makes the program's end readable while an event waits, and only then.
func (ch *Channel) signal() {
	if want := len(ch.queue) > 0; want != ch.raised && !ch.closed {
		ch.raised = want
		if want {
			// The pipe is empty, or the program has closed its end.
			_, _ = unix.Write(ch.fd, []byte{1})
		} else {
			ch.drain()
		}
	}
}

// drain takes the byte out of the pipe. If the program has read it before there is none.
func (ch *Channel) drain() {
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", ch.fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _ = unix.Read(fd, make([]byte, 16))
	_ = unix.Close(fd)
}

// find returns the identifier of this channel with a number.
func (ch *Channel) find(n uint32) (*ident, error) {
	switch i := ch.server.ids[n]; {
	case i == nil:
		return nil, fmt.Errorf("identifier %d does not exist: %w", n, uapi.ENOENT)
	case i.ch != ch:
		return nil, fmt.Errorf("identifier %d is not of this channel: %w", n, uapi.EINVAL)
	case i.num != n:
		return nil, fmt.Errorf("%d is a multicast group: %w", n, uapi.ENOENT)
	default:
		return i, nil
	}
}
