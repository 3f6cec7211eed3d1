package verbs

import (
	"fmt"

	"github.com/gorxe/gorxe/qp"
)

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
