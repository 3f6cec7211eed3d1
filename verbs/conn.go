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

// Conn is a connection that the connection manager made: a queue pair of type RC with a peer.
// Its methods may be called by many goroutines.
type Conn struct {
	cm            *connections
	qp            *QP
	id            mad.CommID // changed with the manager's lock held, while it is not established
	local, remote netip.AddrPort
	index         int // of the GID table
	attr          ConnAttr
	req           *mad.REQ // of an end that dials, until the peer has answered
	peer          cm.Peer  // likewise

	ready chan struct{} // closed when the connection is established or has failed
	over  chan struct{} // closed when it has ended

	mu          sync.Mutex
	established bool   // guarded by mu
	leaving     bool   // guarded by mu: Disconnect was called
	err         error  // guarded by mu: why it ended
	private     []byte // guarded by mu until ready is closed
	psn         PSN    // the first that the peer sends
}

// QP returns the connection's queue pair.
func (c *Conn) QP() *QP { return c.qp }

// Local and Remote return the two ends' addresses and ports.
func (c *Conn) Local() netip.AddrPort  { return c.local }
func (c *Conn) Remote() netip.AddrPort { return c.remote }

// PrivateData returns what the peer's program sent along when the connection was made: to who
// called Dial 196 bytes, to who accepted 56.
func (c *Conn) PrivateData() []byte { return c.private }

// Attr returns what the two ends have agreed on.
func (c *Conn) Attr() ConnAttr { return c.attr }

// Done is closed when the connection has ended, by whichever end. The queue pair is in ERR then.
func (c *Conn) Done() <-chan struct{} { return c.over }

// Err returns why the connection ended: nil while it lives and when this end disconnected,
// [ErrDisconnected], a [*FatalError], or another error. When the program has a completion that
// failed, Err is set; Done is closed a moment later.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && !c.leaving && !c.isDone() {
		return c.failure()
	}
	return c.err
}

// Disconnect ends the connection as rdma_disconnect: the queue pair goes to ERR, where
// outstanding work completes with WR_FLUSH_ERR, and the peer is told. It returns when the
// peer has answered, or does not for about four seconds, or with the cause of ctx; the
// connection is over in any case, except that a nil ctx is refused. Calling it again does nothing.
func (c *Conn) Disconnect(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return fmt.Errorf("disconnect: %w", err)
	}
	c.leave()
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

// leave takes the queue pair to ERR and tells the peer.
func (c *Conn) leave() {
	c.mu.Lock()
	first := !c.leaving
	if first && c.err == nil {
		c.err = c.failure()
	}
	c.leaving = true
	over := c.isDone()
	c.mu.Unlock()
	if !first {
		return
	}
	c.fail()
	err := c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error { return m.Disconnect(now, c.id, nil) })
	if err != nil {
		// It is not established, or has ended already.
		c.end(nil)
		c.cancel()
	}
	if over {
		// It has failed before. Nothing else frees the queue pair.
		c.qp.conn.CompareAndSwap(c, nil)
	}
}

// fail takes the queue pair to ERR. An error says that it is closed.
func (c *Conn) fail() {
	_ = c.qp.Modify(&QPAttr{State: ERR}, AttrState)
}

// event takes what the manager says of the connection.
func (c *Conn) event(e *cm.Event) {
	switch e.Kind {
	case cm.Replied:
		c.replied(e)
	case cm.Established:
		c.begin()
	case cm.Rejected:
		if c.smaller(e.REJ) {
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
		// Without a DREQ the peer has answered that of this end, or has lost the connection.
		c.end(ErrDisconnected)
	}
}

// begin marks the connection as established.
func (c *Conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.established && c.err == nil {
		c.established = true
		close(c.ready)
		if err := c.failure(); err != nil && !c.leaving {
			c.finish(err)
		}
	}
}

// cancel gives up what is not established. After end, nothing is asked any more. The peer's answer may
// have established the connection meanwhile: then it is disconnected.
func (c *Conn) cancel() {
	var id mad.CommID
	// An error says that it has ended by itself.
	_ = c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		if id = c.id; m.Cancel(now, id) == nil {
			return nil
		}
		return m.Disconnect(now, id, nil)
	})
	c.cm.forget(id)
}

// isOver is true when the connection has ended, or is to end.
func (c *Conn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isDone() || c.leaving
}

// isDone is true when the connection has ended.
func (c *Conn) isDone() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// end marks the connection as over. A nil err, or any after Disconnect, is no error.
func (c *Conn) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isDone() {
		return
	}
	c.finish(err)
	c.qp.conn.CompareAndSwap(c, nil)
}

// finish takes the queue pair to ERR and closes Done. What made the queue pair fail before is why
// the connection ended, although the peer has disconnected since. The lock is held.
func (c *Conn) finish(err error) {
	if c.isDone() {
		return
	}
	if c.err == nil && !c.leaving {
		if failed := c.failure(); failed != nil && c.established {
			err = failed
		}
		c.err = err
	}
	if !c.established {
		close(c.ready)
	}
	c.fail()
	close(c.over)
}

// wait returns when the connection is established, or says why it is not.
func (c *Conn) wait(ctx context.Context) error {
	var nobody <-chan struct{}
	if c.req != nil {
		asking, stop := context.WithCancel(ctx)
		defer stop()
		nobody = c.cm.dev.nothingListens(asking, c.local.Addr(), c.remote.Addr())
	}
	for done := false; !done; {
		done = true
		select {
		case <-c.ready:
		case <-nobody:
			nobody = nil
			// A peer that has answered is there.
			if done = c.cm.withdraw(func() mad.CommID { return c.id }) == nil; done {
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

// errOver is that of a connection that this end has ended before it began.
var errOver = errors.New("the queue pair was closed meanwhile")

// FatalError says that a connection ended because its queue pair failed: a work request completed with an error, or a
// request of the peer was refused. It is [ErrUnreachable] where the peer did not answer.
type FatalError struct {
	// Status is that of the completion, [WCSuccess] where there was none.
	Status WCStatus
	// Event tells which request of the peer was refused where there was no completion.
	Event EventType
}

// Error says how the queue pair failed.
func (e *FatalError) Error() string {
	if e.Status != WCSuccess {
		return fmt.Sprintf("the queue pair failed: %v (%s)", e.Status, e.Status.Name())
	}
	return fmt.Sprintf("the queue pair failed: %v", e.Event)
}

// Unwrap returns ErrUnreachable where the peer did not answer, else nil.
func (e *FatalError) Unwrap() error {
	if e.Status == qp.WCRetryExcErr {
		return ErrUnreachable
	}
	return nil
}

// failure is why the connection's queue pair has failed, nil if it has not.
func (c *Conn) failure() error {
	f := c.qp.qp.Failure()
	if f.None() {
		return nil
	}
	return &FatalError{Status: f.Status, Event: f.Event}
}

// failed ends the connection whose queue pair has failed. The peer hears of it when this end disconnects or closes the
// queue pair: a DREQ could overtake the NAK that tells the peer more.
func (c *Conn) failed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.failure(); err != nil && c.established && !c.leaving {
		c.finish(err)
	}
}
