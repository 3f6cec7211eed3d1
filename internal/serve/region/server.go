package region

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/verbs"
)

// Export is a region to be exported.
type Export struct {
	Name   string
	Kind   string    // word for display, such as "file"; only characters that a name may have
	Memory mr.Memory // owned by the caller, which closes it after [Server.Unexport] or [Server.Close]
	Access Access
	Peers  []netip.Prefix // hosts that may use it; default: all peers that the device allows
}

// admits reports whether a host may use the region.
func (e *Export) admits(peer netip.Addr) bool {
	return len(e.Peers) == 0 || slices.ContainsFunc(e.Peers, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// Options holds the limits of a server; 0 means the default.
type Options struct {
	MaxConns   int // at a time
	MaxPerPeer int // connections of one host
	KeepAlive  time.Duration
	Log        *slog.Logger // nil disables logging
}

// Server exports regions of one device. Its methods are safe for concurrent use.
type Server struct {
	dev  *verbs.Device
	opts Options

	// working ends when the server stops, which disconnects the connections. hurry ends when the
	// server no longer waits for the answers of the peers.
	working, hurry context.Context
	stop, rush     context.CancelFunc

	conns sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	regions map[string]*exported
	clients *quota.Clients
	counts  Counts
}

// exported is one registration of a region.
type exported struct {
	Export
	location
	pd    *verbs.PD
	mr    *verbs.MR
	conns int // guarded by Server.mu

	current context.Context // ends when the region is withdrawn or exported again
	end     context.CancelFunc
}

// NewServer returns a server without regions.
func NewServer(dev *verbs.Device, o Options) *Server {
	s := &Server{dev: dev, opts: o, regions: map[string]*exported{}}
	s.opts.MaxConns = cmp.Or(o.MaxConns, DefaultMaxConns)
	s.opts.MaxPerPeer = cmp.Or(o.MaxPerPeer, DefaultMaxPerPeer)
	s.clients = quota.New(s.opts.MaxConns, s.opts.MaxPerPeer)
	s.opts.KeepAlive = cmp.Or(o.KeepAlive, DefaultKeepAlive)
	if s.opts.Log == nil {
		s.opts.Log = slog.New(slog.DiscardHandler)
	}
	s.hurry, s.rush = context.WithCancel(context.Background())
	s.working, s.stop = context.WithCancel(s.hurry)
	return s
}

// register registers the memory of an export, in its own protection domain.
func (s *Server) register(e Export) (*exported, error) {
	x := &exported{Export: e, pd: s.dev.AllocPD()}
	_, access := e.Access.verbs()
	var err error
	if x.mr, err = x.pd.RegMemory(e.Memory, access, verbs.WithRandomIOVA()); err != nil {
		return nil, fmt.Errorf("region %s: %w", e.Name, err)
	}
	x.location = location{e.Access, x.mr.Addr(), e.Memory.Size(), x.mr.RKey()}
	x.current, x.end = context.WithCancel(s.working)
	return x, nil
}

// unexport ends the region and its connections. When it returns, the device no longer accesses
// the memory.
func (x *exported) unexport() error {
	x.end()
	return x.mr.Dereg()
}

// Export exports a region. If the name is already exported, the region gets another key, and
// connections to the previous region of that name end.
func (s *Server) Export(e Export) error {
	if err := CheckName(e.Name); err != nil {
		return err
	}
	if err := CheckName(e.Kind); err != nil {
		return fmt.Errorf("region %s: kind: %w", e.Name, err)
	}
	if e.Access == 0 || e.Access&^allAccess != 0 {
		return fmt.Errorf("region %s: rights %#x: give some of read, write and atomic", e.Name, uint8(e.Access))
	}
	x, err := s.register(e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.Join(fmt.Errorf("region %s: %w", e.Name, verbs.ErrClosed), x.unexport())
	}
	before := s.regions[e.Name]
	s.regions[e.Name] = x
	s.mu.Unlock()
	if before != nil {
		return before.unexport()
	}
	return nil
}

// Unexport ends a region and its connections. It fails if the name is not exported.
func (s *Server) Unexport(name string) error {
	s.mu.Lock()
	x := s.regions[name]
	delete(s.regions, name)
	s.mu.Unlock()
	if x == nil {
		return fmt.Errorf("region %s: %w", name, ErrNoRegion)
	}
	return x.unexport()
}

// Close ends all regions and connections, and notifies the peers. It returns when all peers have
// answered, after a few seconds without an answer, or with the cause of ctx when ctx ends. The
// device then no longer accesses the memory.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	regions := s.regions
	s.regions = map[string]*exported{}
	s.mu.Unlock()
	s.stop()
	var errs []error
	for _, x := range regions {
		errs = append(errs, x.unexport())
	}
	defer context.AfterFunc(ctx, s.rush)()
	s.conns.Wait()
	if s.rush(); ctx.Err() != nil {
		errs = append(errs, context.Cause(ctx))
	}
	return errors.Join(errs...)
}

// Info describes an exported region.
type Info struct {
	Name   string
	Kind   string
	Length uint64 // in bytes
	Access Access
	Peers  []netip.Prefix
	Conns  int // current connections
	Memory mr.Memory
}

// Regions returns descriptions of the regions, by name.
func (s *Server) Regions() []Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []Info{}
	for _, x := range s.regions {
		out = append(out, Info{x.Name, x.Kind, x.length, x.access, x.Peers, x.conns, x.Memory})
	}
	slices.SortFunc(out, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// directory returns a directory of the regions in of, registered as a region that is not among the
// server's.
func (s *Server) directory(of []Info) (*exported, error) {
	d := Directory{Regions: []Entry{}}
	for i := range of {
		r := &of[i]
		d.Regions = append(d.Regions, Entry{r.Name, r.Kind, r.Length, r.Access.Names()})
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	return s.register(Export{Name: "directory", Memory: mr.Bytes(text), Access: Read})
}
