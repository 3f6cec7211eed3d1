package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// Conn is a connection of the connection manager: a queue pair of type RC connected to a peer.
// Its methods are safe for concurrent use.
type Conn struct {
	cm            *connections
	qp            *QP
	id            mad.CommID // set under the manager's lock while the connection is not established
	local, remote netip.AddrPort
	index         int // index of the local address in the GID table
	attr          ConnAttr
	req           *mad.REQ // REQ of an end that dials; nil at the other end
	peer          cm.Peer  // peer of req

	ready chan struct{} // closed when the connection is established or has failed
	over  chan struct{} // closed when the connection has ended

	mu            sync.Mutex
	established   bool   // guarded by mu
	disconnecting bool   // guarded by mu: Disconnect was called
	err           error  // guarded by mu: why the connection ended
	private       []byte // written before ready is closed
	psn           PSN    // first PSN that the peer sends
}

// QP returns the connection's queue pair.
func (c *Conn) QP() *QP { return c.qp }

// Local and Remote return the addresses and ports of the two ends.
func (c *Conn) Local() netip.AddrPort  { return c.local }
func (c *Conn) Remote() netip.AddrPort { return c.remote }

// PrivateData returns the private data of the peer's program from the connection setup: 196 bytes
// after Dial, 56 bytes after Accept.
func (c *Conn) PrivateData() []byte { return c.private }

// Attr returns the attributes that the two ends agreed on.
func (c *Conn) Attr() ConnAttr { return c.attr }

// Done returns a channel that is closed when either end has ended the connection. The queue pair
// is then in ERR.
func (c *Conn) Done() <-chan struct{} { return c.over }

// Err returns why the connection ended: [ErrDisconnected], a [*FatalError], or another error. It
// is nil while the connection is alive and if this end disconnected. Once the program has polled
// a failed completion, Err is set; Done is closed shortly after.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && !c.disconnecting && !c.hasEnded() {
		return c.failure()
	}
	return c.err
}

// Disconnect ends the connection, as rdma_disconnect: it moves the queue pair to ERR, where
// outstanding work completes with WR_FLUSH_ERR, and notifies the peer. It returns when the peer
// has answered or after about four seconds; if ctx ends first, it returns the cause of ctx. In
// each case the connection has ended, except that a nil ctx is rejected. Calling it again has no
// effect.
func (c *Conn) Disconnect(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return fmt.Errorf("disconnect: %w", err)
	}
	c.startDisconnect()
	select {
	case <-c.over:
		return nil
	case <-c.cm.dev.nic.Done():
		c.end(nil)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// startDisconnect moves the queue pair to ERR and sends a DREQ; it does not wait for the answer.
// Only the first call has an effect.
func (c *Conn) startDisconnect() {
	c.mu.Lock()
	first := !c.disconnecting
	if first && c.err == nil {
		c.err = c.failure()
	}
	c.disconnecting = true
	over := c.hasEnded()
	c.mu.Unlock()
	if !first {
		return
	}
	c.moveToERR()
	err := c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error { return m.Disconnect(now, c.id, nil) })
	if err != nil {
		// The connection is not established, or has already ended.
		c.end(nil)
		c.cancel()
	}
	if over {
		// The connection had failed before. No other path releases the queue pair.
		c.qp.conn.CompareAndSwap(c, nil)
	}
}

// moveToERR moves the queue pair to ERR. The error is ignored: it means that the queue pair is
// closed.
func (c *Conn) moveToERR() {
	_ = c.qp.Modify(&QPAttr{State: ERR}, AttrState)
}

// event handles an event of the manager.
func (c *Conn) event(e *cm.Event) {
	switch e.Kind {
	case cm.Replied:
		c.replied(e)
	case cm.Established:
		c.begin()
	case cm.Rejected:
		if c.retryWithSmallerMTU(e.REJ) {
			return
		}
		c.end(&RejectError{Reason: e.REJ.Reason, PrivateData: e.REJ.PrivateData})
	case cm.Unreachable:
		c.end(ErrUnreachable)
	case cm.Disconnected:
		if e.REJ != nil {
			c.end(fmt.Errorf("%w: %w", ErrDisconnected, &RejectError{Reason: e.REJ.Reason}))
			return
		}
		// Without a DREQ, the peer has answered the DREQ of this end, or no longer has the
		// connection.
		c.end(ErrDisconnected)
	}
}

// begin marks the connection as established, unless it has ended: this end may give it up while the
// peer's RTU is on its way.
func (c *Conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.established && c.err == nil && !c.hasEnded() {
		c.established = true
		close(c.ready)
		if err := c.failure(); err != nil && !c.disconnecting {
			c.finish(err)
		}
	}
}

// cancel abandons a connection that is not established. The caller has called end, so no other REQ
// is sent. If the peer's answer has established the connection meanwhile, cancel disconnects it.
func (c *Conn) cancel() {
	var id mad.CommID
	// The error is ignored: it means that the connection has already ended.
	_ = c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		if id = c.id; m.Cancel(now, id) == nil {
			return nil
		}
		return m.Disconnect(now, id, nil)
	})
	c.cm.forget(id)
}

// isEnding reports whether the connection has ended or is being disconnected.
func (c *Conn) isEnding() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hasEnded() || c.disconnecting
}

// hasEnded reports whether the connection has ended.
func (c *Conn) hasEnded() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// end marks the connection as ended. err is the reason, nil if it is no error; it is ignored after
// Disconnect.
func (c *Conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasEnded() {
		return
	}
	c.finish(err)
	c.qp.conn.CompareAndSwap(c, nil)
}

// finish moves the queue pair to ERR and closes Done. If the queue pair failed before, that
// failure is why the connection ended, even if the peer has disconnected since. The caller holds
// mu.
func (c *Conn) finish(err error) {
	if c.hasEnded() {
		return
	}
	if c.err == nil && !c.disconnecting {
		if failed := c.failure(); failed != nil && c.established {
			err = failed
		}
		c.err = err
	}
	if !c.established {
		close(c.ready)
	}
	c.moveToERR()
	close(c.over)
}

// wait waits until the connection is established, or returns why it is not.
func (c *Conn) wait(ctx context.Context) error {
	var hostRefused <-chan struct{}
	if c.req != nil {
		probeCtx, stop := context.WithCancel(ctx)
		defer stop()
		hostRefused = c.cm.dev.nothingListens(probeCtx, c.local.Addr(), c.remote.Addr())
	}
	for done := false; !done; {
		done = true
		select {
		case <-c.ready:
		case <-hostRefused:
			hostRefused = nil
			// A peer that has answered has a socket after all.
			if done = c.cm.abandonRequest(func() mad.CommID { return c.id }) == nil; done {
				c.end(&NotListeningError{Host: c.remote.Addr()})
			}
		case <-ctx.Done():
			c.end(context.Cause(ctx))
			c.cancel()
		case <-c.cm.dev.nic.Done():
			c.end(ErrClosed)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.established:
		return nil
	case c.err == nil:
		return errOver
	}
	return c.err
}

// errOver is the error of a connection that this end closed before it was established.
var errOver = errors.New("the queue pair was closed before the connection was established")

// FatalError means that a connection ended because its queue pair failed: a work request
// completed with an error, or a request of the peer was invalid. It wraps [ErrUnreachable] if the
// peer did not answer.
type FatalError struct {
	// Status is the status of the failed completion, or [WCSuccess] if there was none.
	Status WCStatus
	// Event is the asynchronous event that an invalid request of the peer caused, if Status is
	// WCSuccess.
	Event EventType
}

// Error describes how the queue pair failed.
func (e *FatalError) Error() string {
	if e.Status != WCSuccess {
		return fmt.Sprintf("the queue pair failed: %v (%s)", e.Status, e.Status.Name())
	}
	return fmt.Sprintf("the queue pair failed: %v", e.Event)
}

// Unwrap returns ErrUnreachable if the peer did not answer, else nil.
func (e *FatalError) Unwrap() error {
	if e.Status == qp.WCRetryExcErr {
		return ErrUnreachable
	}
	return nil
}

// failure returns why the connection's queue pair failed, nil if it has not.
func (c *Conn) failure() error {
	f := c.qp.qp.Failure()
	if f.None() {
		return nil
	}
	return &FatalError{Status: f.Status, Event: f.Event}
}

// onFailure ends the connection if its queue pair has failed. The peer is not notified before this
// end disconnects or closes the queue pair: a DREQ could overtake the NAK, which tells the peer
// more.
func (c *Conn) onFailure() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.failure(); err != nil && c.established && !c.disconnecting {
		c.finish(err)
	}
}
