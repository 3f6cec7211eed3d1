//go:build linux

package uverbs

import (
	"fmt"
	"os"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A request is a call of the program in progress.
type request struct {
	*uapi.Request
	ctx    *Context
	caller Caller
	addr   uint64 // address of the argument
}

// handlers has a handler for each supported method; each requires the context's lock.
var handlers map[uapi.Method]func(*request) error

func init() {
	handlers = map[uapi.Method]func(*request) error{
		uapi.MethodInvokeWrite:     invokeWrite,
		uapi.MethodQueryPort:       queryPort,
		uapi.MethodGetContext:      getContext,
		uapi.MethodQueryContext:    queryContext,
		uapi.MethodQueryGIDTable:   queryGIDTable,
		uapi.MethodQueryGIDEntry:   queryGIDEntry,
		uapi.MethodPDDestroy:       destroyer(numPDs, uapi.AttrDestroyPDHandle, (*Context).deallocPD),
		uapi.MethodAHDestroy:       destroyer(numAHs, uapi.AttrDestroyAHHandle, (*Context).destroyAH),
		uapi.MethodMRDestroy:       destroyer(numMRs, uapi.AttrDestroyMRHandle, (*Context).deregMR),
		uapi.MethodMWDestroy:       destroyer(numMWs, uapi.AttrDestroyMWHandle, (*Context).deallocMW),
		uapi.MethodAdviseMR:        adviseMR,
		uapi.MethodQueryMR:         queryMR,
		uapi.MethodCQCreate:        creator(numCQs, createCQ),
		uapi.MethodCQDestroy:       destroyCQ,
		uapi.MethodQPCreate:        creator(numQPs, createQP),
		uapi.MethodQPDestroy:       destroyQP,
		uapi.MethodSRQCreate:       creator(numSRQs, createSRQ),
		uapi.MethodSRQDestroy:      destroySRQ,
		uapi.MethodAsyncEventAlloc: allocAsyncEvents,
	}
}

// Ioctl answers ioctl(2) with the request [uapi.VerbsIoctl] and the argument at addr. The error
// wraps a [uapi.Errno].
func (c *Context) Ioctl(caller Caller, addr uint64) error {
	call, err := c.readCall(addr)
	if err != nil {
		return err
	}
	checked, err := uapi.Check(call, uapi.DriverRXE)
	if err != nil {
		return err
	}
	h := handlers[call.Method]
	if h == nil {
		return fmt.Errorf("%v is not supported: %w", call.Method, uapi.EOPNOTSUPP)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fmt.Errorf("%v: the context is closed: %w", call.Method, uapi.EIO)
	}
	return h(&request{checked, c, caller, addr})
}

// usualCall is at least the size in bytes of the arguments of nearly all calls.
const usualCall = 256

// readCall reads the argument. The program may change it meanwhile, so each byte is read once.
// The first access reads beyond the header only within the same page, so it faults only if reading
// the header alone would.
func (c *Context) readCall(addr uint64) (*uapi.Call, error) {
	page := uint64(os.Getpagesize())
	arg := make([]byte, max(uapi.IoctlHdrSize, min(usualCall, page-addr%page)))
	if err := c.read(arg, addr); err != nil {
		return nil, err
	}
	h, err := uapi.ParseHeader(arg)
	if err != nil {
		return nil, err
	}
	if have, n := len(arg), int(h.Length); n > have {
		arg = append(arg, make([]byte, n-have)...)
		if err := c.read(arg[have:], addr+uint64(have)); err != nil {
			return nil, err
		}
	}
	return uapi.ParseCall(arg)
}

// read fills p from the program's memory.
func (c *Context) read(p []byte, addr uint64) error {
	if err := c.space.Read(p, addr); err != nil {
		return fmt.Errorf("reading %d bytes at %#x of the program: %w: %w", len(p), addr, uapi.EFAULT, err)
	}
	return nil
}

// write stores p in the program's memory.
func (c *Context) write(p []byte, addr uint64) error {
	if err := c.space.Write(p, addr); err != nil {
		return fmt.Errorf("writing %d bytes at %#x of the program: %w: %w", len(p), addr, uapi.EFAULT, err)
	}
	return nil
}

// bytes returns an input of the program, nil if it is absent.
func (r *request) bytes(id uapi.AttrID) ([]byte, error) {
	a := r.Attr(id)
	if a == nil {
		return nil, nil
	}
	if b, ok := a.Bytes(); ok {
		return b, nil
	}
	b := make([]byte, a.Len)
	return b, r.ctx.read(b, a.Data)
}

// input returns a structure that the program has passed.
func input[T any](r *request, id uapi.AttrID) (v T, err error) {
	b, err := r.bytes(id)
	if err != nil {
		return v, err
	}
	return uapi.DecodeAs[T](b)
}

// output stores a structure in the program's buffer for it, truncated to the buffer's length. An
// absent attribute is not an error: the table of methods defines the mandatory ones.
func (r *request) output(id uapi.AttrID, v any) error {
	i := r.Index(id)
	if i < 0 {
		return nil
	}
	a := &r.Call.Attrs[i]
	if err := r.ctx.write(uapi.Truncate(uapi.Encode(v), int(a.Len)), a.Data); err != nil {
		return err
	}
	return r.store(r.Call.MarkOutput(i))
}

// outputFit is like output for the encoded structure b, and fills the rest of the buffer with
// zeros.
func (r *request) outputFit(id uapi.AttrID, b []byte) error {
	i := r.Index(id)
	if i < 0 {
		return nil
	}
	a := &r.Call.Attrs[i]
	if err := r.ctx.write(uapi.Fit(b, int(a.Len)), a.Data); err != nil {
		return err
	}
	return r.store(r.Call.MarkOutput(i))
}

// handle stores the handle of a new object.
func (r *request) handle(id uapi.AttrID, h uint32) error {
	return r.store(r.Call.StoreHandle(r.Index(id), h))
}

// store writes a change of the call's argument to the program.
func (r *request) store(p uapi.Patch) error {
	return r.ctx.write(p.Bytes, r.addr+uint64(p.Offset))
}

// creator returns a method that executes create and counts the new object against the limit of
// kind.
func creator(kind resource, create func(*request) error) func(*request) error {
	return func(r *request) error {
		if err := r.ctx.take(kind, 1); err != nil {
			return err
		}
		err := create(r)
		if err != nil {
			r.ctx.give(kind, 1)
		}
		return err
	}
}

// destroyer returns a method that destroys the object with the handle in an attribute, without a
// response.
func destroyer(kind resource, id uapi.AttrID, destroy func(*Context, uint32) error) func(*request) error {
	return func(r *request) error {
		h, err := r.Handle(id)
		if err != nil {
			return err
		}
		if err := destroy(r.ctx, h); err != nil {
			return err
		}
		r.ctx.give(kind, 1)
		return nil
	}
}
