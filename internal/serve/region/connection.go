package region

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/verbs"
)

// Counts holds the counters of a server since its start.
type Counts struct {
	Accepted    uint64 // connections established
	Unanswered  uint64 // not established: the client did not continue
	Failed      uint64 // not established: the device could not serve it
	Lost        uint64 // ended because the client was gone without notice
	NoRegion    uint64 // rejected: no such region
	NotAllowed  uint64 // rejected: the host may not use the region, and is told that it does not exist
	BusyAll     uint64 // rejected: limit of connections
	BusyPeer    uint64 // rejected: limit of connections per host
	BadRequests uint64 // rejected: invalid request
}

// Each calls f with the name and value of every counter.
func (c *Counts) Each(f func(name string, value uint64)) {
	for _, n := range []struct {
		name  string
		value uint64
	}{
		{"accepted", c.Accepted}, {"unanswered", c.Unanswered}, {"failed", c.Failed}, {"lost", c.Lost},
		{"refused_no_region", c.NoRegion}, {"refused_not_allowed", c.NotAllowed},
		{"refused_busy", c.BusyAll}, {"refused_busy_peer", c.BusyPeer}, {"refused_bad_request", c.BadRequests},
	} {
		f(n.name, n.value)
	}
}

// Counts returns the current counters.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

func (s *Server) count(which *uint64) {
	s.mu.Lock()
	*which++
	s.mu.Unlock()
}

// Serve answers the requests to l. It returns nil when l or the device is closed, and the cause of
// ctx when ctx ends. Connections continue until [Server.Close].
func (s *Server) Serve(ctx context.Context, l *verbs.Listener) error {
	for {
		r, err := l.Next(ctx)
		if errors.Is(err, verbs.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		s.take(r)
	}
}

// take answers one request: it rejects it at once, or accepts it in a new goroutine.
func (s *Server) take(r *verbs.ConnRequest) {
	// The GID that packets come from is authoritative, not the address in the request.
	peer := r.RemoteGID().Addr()
	name, err := parseRequest(r.PrivateData())
	if err != nil {
		s.count(&s.counts.BadRequests)
		s.refuse(r, BadRequest, err)
		return
	}
	if name == "" {
		s.takeDirectory(r, peer)
		return
	}
	x, why := s.find(name, peer)
	var at *place
	if why == 0 {
		at, why = s.enter(x, peer)
	}
	if why != 0 {
		s.refuse(r, why, refusals[why])
		return
	}
	go func() {
		defer s.leave(x, at)
		at.Wait()
		s.connect(r, x, at)
	}()
}

// find returns the region with a name if the host may use it, else why not.
func (s *Server) find(name string, peer netip.Addr) (*exported, Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.regions[name]
	switch {
	case x == nil:
		s.counts.NoRegion++
		return nil, NoRegion
	case !x.admits(peer):
		s.counts.NotAllowed++
		return nil, NoRegion
	}
	return x, 0
}

// takeDirectory gives a host a directory, unless it may use no region at all.
func (s *Server) takeDirectory(r *verbs.ConnRequest, peer netip.Addr) {
	var mine []Info
	for _, i := range s.Regions() {
		if e := (Export{Peers: i.Peers}); e.admits(peer) {
			mine = append(mine, i)
		}
	}
	if len(mine) == 0 {
		s.count(&s.counts.NotAllowed)
		s.refuse(r, NoRegion, ErrNoRegion)
		return
	}
	nowhere := &exported{}
	at, why := s.enter(nowhere, peer)
	if why != 0 {
		s.refuse(r, why, refusals[why])
		return
	}
	go func() {
		defer s.leave(nowhere, at)
		at.Wait()
		x, err := s.directory(mine)
		if err != nil {
			s.fail(r, err)
			return
		}
		s.connect(r, x, at)
		// The error is ignored: it means that the device is closed.
		_ = x.unexport()
	}()
}

// place is one of the limited places for connections.
type place struct {
	*quota.Client
	// asking ends when the server no longer waits for its connections, or another request takes
	// the place.
	asking context.Context
	giveUp context.CancelCauseFunc
}

// enter reserves a place for a connection of peer to x, or returns why there is none.
func (s *Server) enter(x *exported, peer netip.Addr) (*place, Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.counts.BusyAll++
		return nil, Busy
	}
	at := &place{}
	at.asking, at.giveUp = context.WithCancelCause(s.hurry)
	var why quota.Refusal
	switch at.Client, why = s.clients.Enter(time.Now(), peer, func() { at.giveUp(quota.ErrEvicted) }); why.Bound {
	case quota.OfAll:
		s.counts.BusyAll++
	case quota.OfHost, quota.OfNetwork:
		s.counts.BusyPeer++
	}
	if at.Client == nil {
		at.giveUp(nil)
		if why.Soon {
			return nil, noAnswer
		}
		return nil, Busy
	}
	x.conns++
	s.conns.Add(1)
	return at, 0
}

// connected keeps a place for its established connection. It returns false if another request has
// taken the place.
func (s *Server) connected(at *place) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients.Connected(at.Client)
}

func (s *Server) leave(x *exported, at *place) {
	s.mu.Lock()
	s.clients.Leave(at.Client)
	x.conns--
	s.mu.Unlock()
	at.giveUp(nil)
	s.conns.Done()
}

// noAnswer means that a request is not answered: the client repeats the request, and then there may
// be a place. This value is never sent.
const noAnswer Refusal = 0xff

func (s *Server) refuse(r *verbs.ConnRequest, why Refusal, text error) {
	s.mu.Lock()
	answered := why != noAnswer && s.clients.MayAnswer(time.Now())
	s.mu.Unlock()
	if !answered {
		// The error is ignored: it means that the client has given up.
		_ = r.Ignore()
		return
	}
	s.opts.Log.Debug("a request for a region is refused", "peer", r.RemoteGID().Addr(), "reason", text)
	// The error is ignored: it means that the client has given up.
	_ = r.Reject([]byte{byte(why)})
}

func (s *Server) fail(r *verbs.ConnRequest, err error) {
	s.count(&s.counts.Failed)
	s.opts.Log.Debug("a connection to a region could not be served", "peer", r.RemoteGID().Addr(), "error", err)
	_ = r.Reject([]byte{byte(Busy)})
}

// The server posts only empty WRITEs, one at a time.
const (
	serverDepth = 1
	goodbye     = 5 * time.Second // timeout of the peer's answer when disconnecting
)

// connect serves one connection from its request to its end.
func (s *Server) connect(r *verbs.ConnRequest, x *exported, at *place) {
	if at.asking.Err() != nil {
		s.count(&s.counts.Unanswered)
		why := Busy
		if errors.Is(context.Cause(at.asking), quota.ErrEvicted) {
			why = noAnswer
		}
		s.refuse(r, why, context.Cause(at.asking))
		return
	}
	if x.current.Err() != nil {
		s.count(&s.counts.NoRegion)
		s.refuse(r, NoRegion, ErrNoRegion)
		return
	}
	cq, err := s.dev.CreateCQ(2 * serverDepth)
	if err != nil {
		s.fail(r, err)
		return
	}
	// The queue pair that uses cq is closed before.
	defer func() { _ = cq.Close() }()
	q, err := x.pd.CreateQP(verbs.QPInitAttr{SendCQ: cq, Cap: verbs.QPCap{MaxSendWR: serverDepth}})
	if err != nil {
		s.fail(r, err)
		return
	}
	defer func() { _ = q.Close() }()
	p := verbs.DefaultConnParam()
	p.Access, _ = x.access.verbs()
	p.MaxRdAtomic = 0
	p.RNRRetry = 0 // no receive is ever posted: a SEND of the client need not wait for one
	p.PrivateData = x.encode()
	// If the region is withdrawn meanwhile, the connection is established and then ended, so that
	// the client is notified.
	c, err := r.Accept(at.asking, q, p)
	if err == nil && !s.connected(at) {
		// Closing the queue pair ends the connection.
		err = quota.ErrEvicted
	}
	if err != nil {
		s.count(&s.counts.Unanswered)
		s.opts.Log.Debug("a client of a region did not go on", "region", x.Name, "error", err)
		// In most cases the client is gone.
		_ = r.Reject([]byte{byte(Busy)})
		return
	}
	s.count(&s.counts.Accepted)
	s.opts.Log.Debug("connected", "region", x.Name, "peer", c.Remote())
	if err := c.KeepAlive(x.current, s.opts.KeepAlive); errors.Is(err, verbs.ErrUnreachable) {
		s.count(&s.counts.Lost)
	}
	ctx, cancel := context.WithTimeout(s.hurry, goodbye)
	defer cancel()
	// The connection has ended whether the peer has answered or not.
	_ = c.Disconnect(ctx)
	s.opts.Log.Debug("disconnected", "region", x.Name, "peer", c.Remote(), "error", c.Err())
}
