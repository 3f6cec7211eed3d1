package rping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// Server answers pings.
type Server struct {
	// PD is the protection domain of queue pairs and buffers.
	PD *verbs.PD
	// Size is the maximum size of an accepted ping in bytes, MinSize to MaxSize; 0 means MaxSize.
	Size int
	// KeepAlive is the interval in which a silent client is checked; 0 disables it. See
	// [verbs.Conn.KeepAlive].
	KeepAlive time.Duration
	// Connected, if not nil, is called when a client is connected. If it returns false, the
	// connection ends at once.
	Connected func() bool
	// Ping, if not nil, is called with the text of each ping. The function must not retain the
	// text.
	Ping func(text []byte)
}

// ErrNotConnected means that a client requested a connection and did not complete it.
var ErrNotConnected = errors.New("connection not established")

// Serve accepts a request and answers pings. It returns nil when the peer disconnects between two
// pings, and an error if ctx ends before.
func (s *Server) Serve(ctx context.Context, r *verbs.ConnRequest) error {
	size := s.Size
	if size == 0 {
		size = MaxSize
	}
	if ctx.Err() != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNotConnected, context.Cause(ctx)), r.Reject(nil))
	}
	e, err := newEndpoint(s.PD)
	if err != nil {
		return errors.Join(err, r.Reject(nil))
	}
	defer e.close()
	if e.conn, err = r.Accept(ctx, e.qp, param()); err != nil {
		return fmt.Errorf("%w: %w", ErrNotConnected, err)
	}
	if s.Connected != nil && !s.Connected() {
		return ErrNotConnected
	}
	// The buffer is allocated only now: a request with a forged address never gets here and must
	// not cost memory.
	buf := make([]byte, size)
	mr, err := e.register(s.PD, buf, verbs.LocalWrite)
	if err != nil {
		return errors.Join(err, e.conn.Disconnect(ctx))
	}
	defer e.lookAfter(ctx, s.KeepAlive)()
	for err == nil {
		err = s.answer(ctx, e, mr, buf)
	}
	if errors.Is(err, errOver) && !errors.Is(err, errMiddle) {
		err = nil
	}
	if d := e.conn.Disconnect(ctx); err == nil {
		err = d
	}
	return err
}

// errMiddle means that the peer disconnected during a ping.
var errMiddle = errors.New("peer disconnected during a ping")

// answer answers one ping.
func (s *Server) answer(ctx context.Context, e *endpoint, mr *verbs.MR, buf []byte) error {
	var source, sink buffer
	if err := e.message(ctx, &source); err != nil {
		return err
	}
	if int64(source.size) > int64(len(buf)) {
		return fmt.Errorf("a ping of %d bytes: this end takes %d, give it -S %d or more", source.size,
			len(buf), source.size)
	}
	if err := s.exchange(ctx, e, mr, buf[:source.size], &source, &sink); err != nil {
		if errors.Is(err, errOver) {
			return fmt.Errorf("%w: %w", errMiddle, err)
		}
		return err
	}
	// A client may disconnect once it has this message, and its DREQ may overtake the
	// acknowledgement.
	return e.sendMessage(ctx, &buffer{})
}

// exchange READs the ping, receives the message with the sink, and WRITEs the text of the ping
// there.
func (s *Server) exchange(ctx context.Context, e *endpoint, mr *verbs.MR, ping []byte, source, sink *buffer) error {
	err := e.do(ctx, &verbs.SendWR{
		Opcode: verbs.WRRead, SGList: []verbs.SGE{mr.SGE(0, len(ping))}, RemoteAddr: source.addr, RKey: source.rkey,
	})
	if err != nil {
		return err
	}
	said := text(ping)
	if s.Ping != nil {
		s.Ping(said)
	}
	if err := e.sendMessage(ctx, &buffer{}); err != nil {
		return err
	}
	if err := e.message(ctx, sink); err != nil {
		return err
	}
	// The text with its final zero, if there is one.
	n := min(len(said)+1, len(ping))
	return e.do(ctx, &verbs.SendWR{
		Opcode: verbs.WRWrite, SGList: []verbs.SGE{mr.SGE(0, n)}, RemoteAddr: sink.addr, RKey: sink.rkey,
	})
}
