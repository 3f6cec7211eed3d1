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

// Limits. Those of a channel are far above what programs use, and bound its memory: some 16 MiB of identifiers, 8 MiB
// of events.
const (
	maxIDs     = 1 << 14 // identifiers of one channel
	maxEvents  = 1 << 14 // events of one channel beyond which commands and requests add none
	maxQueued  = 32      // events of one identifier, likewise
	maxGroups  = 1 << 10 // multicast groups of one channel
	maxBacklog = 1 << 10 // requests of one listener that wait, as in the kernel

	// Of all channels together: some 64 MiB of identifiers, 32 MiB of events.
	maxAllIDs    = 1 << 16
	maxAllEvents = 1 << 16

	// Addresses that are resolved at a time, each of which takes sockets of the host. The others wait.
	maxResolves        = 128
	maxChannelResolves = 16
)

// A Server has the identifiers of any number of programs on one device. Its methods are safe for concurrent use.
//
// mu guards all channels, identifiers and ports. It is held neither while memory of a program is accessed, which may
// take as long as the program likes, nor when package verbs calls; it is taken before any lock of that package.
type Server struct {
	dev     *verbs.Device
	hangups *hangup.Watcher
	// resolves has a token for each address that is being resolved.
	resolves chan struct{}

	mu       sync.Mutex
	channels map[*Channel]struct{} // nil once closed
	ids      map[uint32]*ident     // by their numbers, and by those of their groups
	last     uint32                // number of the latest identifier
	queued   int                   // events in the queues of all channels
	// Limits of all channels together; constant.
	allIDs, allEvents int
	ports             map[portKey][]*ident
}

// New returns a server for dev, whose peers have answers from then on, also if no program listens. Close ends it before
// the device.
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

// Close ends all channels. Closing again does nothing.
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

// number returns a number that no identifier or group has, and enters i with it. mu is held.
func (s *Server) number(i *ident) uint32 {
	for {
		s.last++
		if _, used := s.ids[s.last]; !used {
			s.ids[s.last] = i
			return s.last
		}
	}
}

// errnoFor gives an error of package verbs the number that the kernel has for what is most often its cause.
func errnoFor(err error, e uapi.Errno) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", e, err)
}
