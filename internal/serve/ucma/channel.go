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
	level   level         // of the pipe
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
	waiters []*waiter
}

// Open answers an open of the device's file. onClose is called once, when the channel has ended; it may be nil.
func (s *Server) Open(onClose func(*Channel)) (*Channel, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("ucma: a channel: %w", err)
	}
	ch := &Channel{
		server: s, level: level{fd: p[1]}, theirs: os.NewFile(uintptr(p[0]), "rdma_cm"), onClose: onClose,
		resolves: make(chan struct{}, maxChannelResolves), ids: map[uint32]*ident{},
	}
	// Only our end must not block: the program chooses for its own.
	err := unix.SetNonblock(p[1], true)
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
		if ch.watch, err = s.hangups.Add(ch.level.fd, func() { go ch.Close() }, nil); err == nil {
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
	ch.level.close()
	s.mu.Unlock()
	err := ch.theirs.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if ch.onClose != nil {
		ch.onClose(ch)
	}
	return err
}

// signal makes the program's end readable while an event waits, and only then. mu is held.
func (ch *Channel) signal() { ch.level.set(len(ch.queue) > 0) }

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
