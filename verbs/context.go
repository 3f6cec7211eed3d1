package verbs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/nic"
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
	client *nic.Client      // nil for the device's own context
	limits [objectKinds]int // 0 is none
	owner  atomic.Pointer[string]

	// creating is held for reading while an object is made, so that Close sees every object that
	// was made before it and none is made after it.
	creating sync.RWMutex
	closed   bool // guarded by creating

	mu sync.Mutex
	// objects are guarded by mu. They are nil in the device's own context, which ends nothing.
	objects [objectKinds]map[*owned]struct{}
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

// owned is the part of every object that ties it to its context.
type owned struct {
	ctx  *Context
	kind objectKind
	end  func() error // ends the object
}

// OpenContext makes a context for one client.
func (d *Device) OpenContext(limits ContextLimits) *Context {
	c := &Context{dev: d, client: d.nic.NewClient(), limits: [objectKinds]int{
		objectPD: limits.MaxPD, objectCQ: limits.MaxCQ, objectSRQ: limits.MaxSRQ, objectQP: limits.MaxQP,
		objectMR: limits.MaxMR, objectMW: limits.MaxMW,
	}}
	for k := range c.objects {
		c.objects[k] = map[*owned]struct{}{}
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

func (c *Context) all(k objectKind) []*owned {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*owned, 0, len(c.objects[k]))
	for o := range c.objects[k] {
		all = append(all, o)
	}
	return all
}

// add makes an object by create and enters it. The object gives itself up when end, which Close
// calls, has ended it.
func (c *Context) add(k objectKind, o *owned, end, create func() error) error {
	return c.whileOpen(func() error {
		*o = owned{ctx: c, kind: k, end: end}
		if err := c.enter(o); err != nil {
			return err
		}
		if err := create(); err != nil {
			o.giveUp()
			return err
		}
		return nil
	})
}

// whileOpen calls f unless the context is closed. Close waits until f returns.
func (c *Context) whileOpen(f func() error) error {
	c.creating.RLock()
	defer c.creating.RUnlock()
	if c.closed {
		return fmt.Errorf("context: %w", nic.ErrClosed)
	}
	return f()
}

func (c *Context) enter(o *owned) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[o.kind] == nil {
		return nil
	}
	if limit := c.limits[o.kind]; limit > 0 && len(c.objects[o.kind]) >= limit {
		return fmt.Errorf("all %d %s of the context are in use: end one, or open the context with a higher limit",
			limit, objectNames[o.kind])
	}
	c.objects[o.kind][o] = struct{}{}
	return nil
}

// giveUp takes the object out of its context. Doing so again does nothing.
func (o *owned) giveUp() {
	o.ctx.mu.Lock()
	delete(o.ctx.objects[o.kind], o)
	o.ctx.mu.Unlock()
}

// ended gives the object up if it has ended without an error, which it returns.
func (o *owned) ended(err error) error {
	if err == nil {
		o.giveUp()
	}
	return err
}

// SetOwner names the client of the context for people who look into the device; see [Device.Owner]. It applies to
// protection domains that are made later.
func (c *Context) SetOwner(name string) { c.owner.Store(&name) }

// Owner returns the name of the client that a protection domain belongs to, by [PD.ID], which [QPInfo] and [MRInfo]
// have. It is empty for domains of contexts without a name.
func (d *Device) Owner(pd uint32) string {
	if name, ok := d.owners.Load(pd); ok {
		return name.(string)
	}
	return ""
}

// own enters a new domain under the name of its client.
func (c *Context) own(pd uint32) {
	if name := c.owner.Load(); name != nil {
		c.dev.owners.Store(pd, *name)
	}
}
