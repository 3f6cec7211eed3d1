//go:build linux

package ucma

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/internal/host/hangup"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// Limits. Those of a channel exceed by far what programs use, and limit its memory: some 16 MiB
// of identifiers, 8 MiB of events.
const (
	maxIDs     = 1 << 14 // identifiers of one channel
	maxEvents  = 1 << 14 // events of one channel beyond which commands and requests add none
	maxQueued  = 32      // events of one identifier, likewise
	maxGroups  = 1 << 10 // multicast groups of one channel
	maxBacklog = 1 << 10 // waiting requests of one listener, as in the kernel

	// Of all channels together: some 64 MiB of identifiers, 32 MiB of events.
	maxAllIDs    = 1 << 16
	maxAllEvents = 1 << 16

	// Addresses that are resolved at a time, each of which uses sockets of the host. The others
	// wait.
	maxResolves        = 128
	maxChannelResolves = 16
)

// A Server holds the identifiers of any number of programs on one device. Its methods are safe
// for concurrent use.
//
// mu guards all channels, identifiers and ports. It is not held while memory of a program is
// accessed, which may block for as long as the program wants, nor when package verbs calls; it is
// acquired before any lock of that package.
type Server struct {
	dev     *verbs.Device
	hangups *hangup.Watcher
	// resolves holds a token for each address that is being resolved.
	resolves chan struct{}

	mu       sync.Mutex
	channels map[*Channel]struct{} // nil once closed
	ids      map[uint32]*ident     // by the numbers of the identifiers and of their groups
	last     uint32                // number of the last identifier or group
	queued   int                   // number of events in the queues of all channels
	// Limits of all channels together; constant.
	allIDs, allEvents int
	ports             map[portKey][]*ident
}

// New returns a server for dev. From then on, dev answers connection requests of peers, even if no
// program listens. The server must be closed before the device.
func New(dev *verbs.Device) (*Server, error) {
	if err := dev.StartConnManager(); err != nil {
		return nil, err
	}
	h, err := hangup.New()
	if err != nil {
		return nil, err
	}
	return &Server{
		dev: dev, hangups: h, allIDs: maxAllIDs, allEvents: maxAllEvents, resolves: make(chan struct{}, maxResolves),
		channels: map[*Channel]struct{}{}, ids: map[uint32]*ident{}, ports: map[portKey][]*ident{},
	}, nil
}

// Close ends all channels. Closing it again has no effect.
func (s *Server) Close() error {
	s.mu.Lock()
	all := slices.Collect(maps.Keys(s.channels))
	closed := s.channels == nil
	s.channels = nil
	s.mu.Unlock()
	if closed {
		return nil
	}
	var errs []error
	for _, ch := range all {
		errs = append(errs, ch.Close())
	}
	return errors.Join(append(errs, s.hangups.Close())...)
}

// number returns a number that no identifier or group has, and stores i under it. The caller
// holds mu.
func (s *Server) number(i *ident) uint32 {
	for {
		s.last++
		if _, used := s.ids[s.last]; !used {
			s.ids[s.last] = i
			return s.last
		}
	}
}

// errnoFor wraps err, an error of package verbs, with e, the error number that the kernel returns
// for the most common cause. It returns nil for nil.
func errnoFor(err error, e uapi.Errno) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", e, err)
}
