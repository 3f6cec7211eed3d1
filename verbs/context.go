package verbs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/nic"
)

// ContextLimits limits the number of objects that a [Context] can have at a time. 0 means no
// limit other than the device's.
type ContextLimits struct {
	MaxPD  int
	MaxCQ  int
	MaxSRQ int
	MaxQP  int
	MaxMR  int // regions, including those of AllocFastMR
	MaxMW  int
}

// Context owns the objects of one user of a device, such as a program, as struct ib_ucontext in the
// Linux kernel owns those of one process; [Context.Close] destroys them all. Objects of different
// contexts cannot be combined. The methods of [Device] that create objects use the device's own
// context, which has no limits.
type Context struct {
	dev    *Device
	user   *nic.User              // nil for the device's own context
	limits [objectKinds]int       // 0 means no limit
	owner  atomic.Pointer[string] // name of the user, nil without a name

	// creating is read-locked while an object is created, so that Close sees every object created
	// before it and none is created after it.
	creating sync.RWMutex
	closed   bool // guarded by creating

	mu sync.Mutex
	// objects is guarded by mu. It is nil in the device's own context, which is never closed.
	objects [objectKinds]map[*owned]struct{}
}

// objectKind is a kind of object, in the order in which Close destroys them: each kind uses only
// later kinds.
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

// owned is the part of every object that links it to its context.
type owned struct {
	ctx     *Context
	kind    objectKind
	destroy func() error // destroys the object
}

// OpenContext creates a context for one user of the device.
func (d *Device) OpenContext(limits ContextLimits) *Context {
	c := &Context{dev: d, user: d.nic.NewUser(), limits: [objectKinds]int{
		objectPD: limits.MaxPD, objectCQ: limits.MaxCQ, objectSRQ: limits.MaxSRQ, objectQP: limits.MaxQP,
		objectMR: limits.MaxMR, objectMW: limits.MaxMW,
	}}
	for k := range c.objects {
		c.objects[k] = map[*owned]struct{}{}
	}
	return c
}

// Device returns the context's device.
func (c *Context) Device() *Device { return c.dev }

// Close destroys the objects of the context: queue pairs, whose outstanding work is flushed and
// whose connected peers are notified; then shared receive queues, completion queues and channels,
// memory windows, regions, and protection domains. When it returns, the device no longer accesses
// memory that was registered. No object can be created in the context afterwards. Closing it
// again has no effect.
func (c *Context) Close() error {
	c.creating.Lock()
	c.closed = true
	c.creating.Unlock()
	var errs []error
	for k := range objectKinds {
		for _, o := range c.all(k) {
			if err := o.destroy(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// all returns the objects of kind k.
func (c *Context) all(k objectKind) []*owned {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*owned, 0, len(c.objects[k]))
	for o := range c.objects[k] {
		all = append(all, o)
	}
	return all
}

// add creates an object with create and registers it in the context. destroy, which Close
// calls, destroys the object and must deregister it.
func (c *Context) add(k objectKind, o *owned, destroy, create func() error) error {
	return c.whileOpen(func() error {
		*o = owned{ctx: c, kind: k, destroy: destroy}
		if err := c.enter(o); err != nil {
			return err
		}
		if err := create(); err != nil {
			o.deregister()
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

// enter registers the object in the context. It fails if the limit of its kind is reached.
func (c *Context) enter(o *owned) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects[o.kind] == nil {
		return nil
	}
	if limit := c.limits[o.kind]; limit > 0 && len(c.objects[o.kind]) >= limit {
		return fmt.Errorf("all %d %s of the context are in use: close one, or open the context with a higher limit",
			limit, objectNames[o.kind])
	}
	c.objects[o.kind][o] = struct{}{}
	return nil
}

// deregister removes the object from its context. Repeating it has no effect.
func (o *owned) deregister() {
	o.ctx.mu.Lock()
	delete(o.ctx.objects[o.kind], o)
	o.ctx.mu.Unlock()
}

// deregisterUnless removes the object from its context if err is nil. It returns err.
func (o *owned) deregisterUnless(err error) error {
	if err == nil {
		o.deregister()
	}
	return err
}

// SetOwner names the user of the context in diagnostics; see [Device.Owner]. It applies to
// protection domains that are allocated later.
func (c *Context) SetOwner(name string) { c.owner.Store(&name) }

// Owner returns the name of the user that a protection domain belongs to. pd is its [PD.ID],
// which [QPInfo] and [MRInfo] contain. The name is empty for domains of contexts without a name.
func (d *Device) Owner(pd uint32) string {
	if name, ok := d.owners.Load(pd); ok {
		return name.(string)
	}
	return ""
}

// recordOwner records the name of the user for a new domain.
func (c *Context) recordOwner(pd uint32) {
	if name := c.owner.Load(); name != nil {
		c.dev.owners.Store(pd, *name)
	}
}
