package gorxe

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gorxe/gorxe/internal/engine"
)

// ContextLimits bound the number of objects that a [Context] has at a time. 0 is no bound but the
// device's.
type ContextLimits struct {
	MaxPD  int
	MaxCQ  int
	MaxSRQ int
	MaxQP  int
	MaxMR  int // regions, those of AllocFastMR included
	MaxMW  int
}

// Context owns the objects of one client of a device, as struct ib_ucontext of the kernel those of one
// process: [Context.Close] ends them all. Objects of different contexts cannot be combined. The methods
// of [Device] that make objects use a context of the device's own, which has no limits.
type Context struct {
	dev    *Device
	limits [objectKinds]int // 0 is none

	// creating is held for reading while an object is made, so that Close sees every object that
	// was made before it and none is made after it.
	creating sync.RWMutex
	closed   bool // guarded by creating

	mu    sync.Mutex
	owned [objectKinds]map[*ownership]struct{} // guarded by mu; nil in the device's own context, which ends nothing
}

// objectKind is a kind of object, in the order in which Close ends them: each uses only kinds that
// come later.
type objectKind int

const (
	objectQP objectKind = iota
	objectSRQ
	objectCQ
	objectChannel
	objectMW
	objectMR
	objectPD
	objectKinds
)

var objectNames = [objectKinds]string{
	objectQP: "queue pairs", objectSRQ: "shared receive queues", objectCQ: "completion queues",
	objectChannel: "completion channels", objectMW: "memory windows", objectMR: "memory regions",
	objectPD: "protection domains",
}

// ownership is the place of an object in its context.
type ownership struct {
	ctx  *Context
	kind objectKind
	end  func() error // ends the object
}

// OpenContext makes a context for one client.
func (d *Device) OpenContext(limits ContextLimits) *Context {
	c := &Context{dev: d, limits: [objectKinds]int{
		objectPD: limits.MaxPD, objectCQ: limits.MaxCQ, objectSRQ: limits.MaxSRQ, objectQP: limits.MaxQP,
		objectMR: limits.MaxMR, objectMW: limits.MaxMW,
	}}
	for k := range c.owned {
		c.owned[k] = map[*ownership]struct{}{}
	}
	return c
}

// Device returns the device the context is on.
func (c *Context) Device() *Device { return c.dev }

// Close ends the objects of the context: queue pairs, whose outstanding work is flushed and whose peers
// are told if they are connected; then shared receive queues, completion queues and channels, memory
// windows, regions, and protection domains. When it returns, nothing reads or writes memory that was
// registered. No object can be made in it any more. Closing again does nothing.
func (c *Context) Close() error {
	c.creating.Lock()
	c.closed = true
	c.creating.Unlock()
	var errs []error
	for k := range objectKinds {
		for _, o := range c.all(k) {
			if err := o.end(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Context) all(k objectKind) []*ownership {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*ownership, 0, len(c.owned[k]))
	for o := range c.owned[k] {
		all = append(all, o)
	}
	return all
}

// own makes an object by create, which returns what ends it, and enters it. The object keeps the
// ownership and gives it up when it has ended.
func (c *Context) own(k objectKind, create func(*ownership) (end func() error, err error)) error {
	c.creating.RLock()
	defer c.creating.RUnlock()
	if c.closed {
		return fmt.Errorf("context: %w", engine.ErrClosed)
	}
	o := &ownership{ctx: c, kind: k}
	if err := c.enter(o); err != nil {
		return err
	}
	end, err := create(o)
	if err != nil {
		o.giveUp()
		return err
	}
	o.end = end
	return nil
}

func (c *Context) enter(o *ownership) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owned[o.kind] == nil {
		return nil
	}
	if limit := c.limits[o.kind]; limit > 0 && len(c.owned[o.kind]) >= limit {
		return fmt.Errorf("all %d %s of the context are in use: end one, or open the context with a higher limit",
			limit, objectNames[o.kind])
	}
	c.owned[o.kind][o] = struct{}{}
	return nil
}

// giveUp takes the object out of its context. Doing so again does nothing.
func (o *ownership) giveUp() {
	o.ctx.mu.Lock()
	delete(o.ctx.owned[o.kind], o)
	o.ctx.mu.Unlock()
}

// ended gives the object up if it has ended without an error, which it returns.
func (o *ownership) ended(err error) error {
	if err == nil {
		o.giveUp()
	}
	return err
}
