package verbs

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// Domain returns the domain as package mr has it, for the [RecvSource] of a queue pair.
func (p *PD) Domain() *mr.PD { return p.pd }

// CreateCQOver makes a completion queue whose completions go to store, from which another process takes
// them: [CQ.Poll] finds nothing. notify is called when the store reports that the process has requested a
// notification. It must not block and must not call the device.
func (c *Context) CreateCQOver(store CompletionStore, notify func()) (*CQ, error) {
	if store == nil || notify == nil {
		return nil, errors.New("completion queue: the store and the function that notifies must not be nil")
	}
	out := &CQ{}
	err := c.add(objectCQ, &out.owned, out.Close, func() error {
		cq, err := c.dev.nic.CreateCQOver(store, notify)
		if err != nil {
			return err
		}
		out.cq, cq.Owner = cq, out
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("completion queue: %w", err)
	}
	return out, nil
}

// Doorbell announces work requests in the sources of the queue pair ([QPInitAttr]). It fetches send
// requests and transmits them, as [QP.PostSend] does. Receives are fetched when messages arrive; in ERR
// the doorbell flushes them.
func (q *QP) Doorbell() error { return q.qp.Doorbell() }
