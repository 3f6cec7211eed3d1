//go:build linux

package uverbs

import (
	"errors"
	"fmt"
	"os"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/qp"
	"golang.org/x/sys/unix"
)

// Sizes of the records that programs read.
var (
	compRecord  = uapi.SizeOf(uapi.CompEventDesc{})
	asyncRecord = uapi.SizeOf(uapi.AsyncEventDesc{})
)

func (c *command) createCompChannel() (any, error) {
	ctx := c.ctx
	e, theirs, err := ctx.newEventFile(compRecord)
	if err != nil {
		return nil, err
	}
	fd, err := c.install(e, theirs)
	if err != nil {
		return nil, err
	}
	// The channel ends with its last descriptor; completion queues may outlive it.
	if err := e.onHangup(ctx.server.hangups, func() { go ctx.dropChannel(e) }); err != nil {
		ctx.endEventFile(e)
		return nil, errnoFor(err, uapi.EMFILE)
	}
	ctx.channels[e] = struct{}{}
	return uapi.CreateCompChannelResp{FD: uint32(fd)}, nil
}

// newEventFile returns a new event file for records of size bytes, and the end of its pipe for the
// program.
func (c *Context) newEventFile(size int) (*eventFile, *os.File, error) {
	err := c.take(eventFiles, 1)
	if err != nil {
		// The program may have closed event files whose hangup is not reported yet.
		c.dropClosed()
		err = c.take(eventFiles, 1)
	}
	if err != nil {
		return nil, nil, err
	}
	e, theirs, err := newEventFile(c.events, size)
	if err != nil {
		c.give(eventFiles, 1)
		return nil, nil, errnoFor(err, uapi.EMFILE)
	}
	return e, theirs, nil
}

// dropClosed ends the channels that the program has closed.
func (c *Context) dropClosed() {
	var files []*eventFile
	var ends []unix.PollFd
	for e := range c.channels {
		files, ends = append(files, e), append(ends, unix.PollFd{Fd: int32(e.fd)})
	}
	if _, err := unix.Poll(ends, 0); err != nil {
		return
	}
	for i, e := range files {
		if ends[i].Revents&unix.POLLERR != 0 {
			delete(c.channels, e)
			c.endEventFile(e)
		}
	}
}

// endEventFile ends an open event file.
func (c *Context) endEventFile(e *eventFile) {
	e.close()
	c.give(eventFiles, 1)
}

// install passes the program its end of an event file.
func (r *request) install(e *eventFile, theirs *os.File) (int, error) {
	fd, err := r.caller.Install(theirs, e)
	if err = errors.Join(err, theirs.Close()); err != nil {
		r.ctx.endEventFile(e)
		return 0, errnoFor(err, uapi.EMFILE)
	}
	return fd, nil
}

// dropChannel ends a channel. It waits for a call of the program in progress.
func (c *Context) dropChannel(e *eventFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.channels[e]; open && !c.objectsEnded {
		delete(c.channels, e)
		c.endEventFile(e)
	}
}

func allocAsyncEvents(r *request) error {
	if r.ctx.async.Load() != nil {
		return fmt.Errorf("the context has its asynchronous events: %w", uapi.EINVAL)
	}
	e, theirs, err := r.ctx.newEventFile(asyncRecord)
	if err != nil {
		return err
	}
	fd, err := r.install(e, theirs)
	if err != nil {
		return err
	}
	// A program that closes this file is closing the device, or has ended.
	file := r.ctx.file
	if err := e.onHangup(r.ctx.server.hangups, func() { _ = file.Drop() }); err != nil {
		r.ctx.endEventFile(e)
		return errnoFor(err, uapi.EMFILE)
	}
	r.ctx.async.Store(e)
	return r.handle(uapi.AttrAsyncEventAllocFDHandle, uint32(fd))
}

// push queues an event of an object for the program. It does not block.
func (c *Context) push(from *source, e qp.EventType) {
	if f := c.async.Load(); f != nil {
		f.push(record{from, e})
	}
}

// withdraw removes the events of an object that ends, and returns how many of them the program
// has read.
func (c *Context) withdraw(s *source) uint32 {
	if f := c.async.Load(); f != nil {
		return f.withdraw(s)
	}
	return 0
}
