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

// A Channel is an open rdma_cm device of a program (struct ucma_file): the program writes
// commands to it, and it is readable while an event is queued.
//
// The program has the read end of a pipe and the channel only the write end, so the channel notices
// when the program's last duplicate of the read end is closed.
type Channel struct {
	server  *Server
	level   level         // of the pipe
	theirs  *os.File      // read end, closed by Program
	watch   *hangup.Watch // nil if there is none
	onClose func(*Channel)
	// resolves holds a token for each address of the channel that is being resolved.
	resolves chan struct{}

	// The following fields are guarded by Server.mu.
	closed  bool
	ids     map[uint32]*ident
	groups  int       // number of multicast groups of the identifiers
	queue   []*event  // oldest first
	waiters []*waiter // threads that wait in GET_EVENT, oldest first
}

// Open answers open(2) of the device file. onClose, if not nil, is called once when the channel
// has ended.
func (s *Server) Open(onClose func(*Channel)) (*Channel, error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("ucma: a channel: %w", err)
	}
	ch := &Channel{
		server: s, level: level{fd: p[1]}, theirs: os.NewFile(uintptr(p[0]), "rdma_cm"), onClose: onClose,
		resolves: make(chan struct{}, maxChannelResolves), ids: map[uint32]*ident{},
	}
	// Only this end must be non-blocking: the program chooses the mode of its end.
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

// Program calls give, once, with the descriptor of which the program gets a duplicate. The
// channel ends with the program's last duplicate, or if give fails.
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
		// The watcher's goroutine must not block.
		if ch.watch, err = s.hangups.Add(ch.level.fd, func() { go ch.Close() }, nil); err == nil {
			return nil
		}
		go ch.Close()
		return err
	}
	return errors.Join(err, ch.Close())
}

// Close ends the channel and its identifiers. A thread that is waiting for an event continues to
// wait, as in the kernel, where such a thread keeps the file open. Closing it again has no effect.
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
	ch.queue = nil // first, so that no identifier searches it for its events
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

// signal makes the program's end readable while an event is queued, and only then. The caller
// holds mu.
func (ch *Channel) signal() { ch.level.set(len(ch.queue) > 0) }

// find returns the identifier of this channel with the number n. The caller holds mu.
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
