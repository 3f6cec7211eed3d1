//go:build linux

package uverbs

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/gorxe/gorxe/internal/host/ringfile"
	"github.com/gorxe/gorxe/verbs"
)

// A Context is an open device file of a program (struct ib_ucontext). Its methods are safe for
// concurrent use; calls of the program are executed one at a time.
type Context struct {
	server *Server
	space  CallerMemory
	file   *ringfile.File
	verbs  *verbs.Context
	bell   chan struct{} // a doorbell is pending; capacity 1, never closed
	done   chan struct{} // closed when Close starts
	bells  bells
	// refusals are orders for the goroutine that answers doorbells: only that goroutine may
	// change the position of doorbells in the file.
	refusals chan refusal
	events   *eventWriter
	account  *account

	closing  sync.Once
	closeErr error // error of Close

	// uses is the number of users of the account: the two goroutines and, until Close, the context.
	// So a context counts against the program's limits as long as the program blocks one of its
	// goroutines.
	uses atomic.Int32

	// ahs is read when a queue pair fetches requests, under the lock of the queue pair's shard.
	ahs ahTable

	mu           sync.Mutex // guards the following fields
	closed       bool
	objectsEnded bool    // all objects have ended
	taken        amounts // from the account
	onClose      func()  // see OnClose
	pds          table[*pd]
	mrs          table[*region]
	mws          table[*verbs.MW]
	cqs          table[*cq]
	qps          table[*queuePair]
	ready        int // queue pairs in RTS or a later state
	srqs         table[*srq]
	channels     map[*eventFile]struct{} // completion channels

	// async is nil until the program requests it. It is set under mu, but also used under locks
	// of the device.
	async         atomic.Pointer[eventFile]
	ports, device source // of events of the port and of the device
}

func newContext(s *Server, space CallerMemory, f *ringfile.File, a *account) *Context {
	c := &Context{
		server: s, space: space, file: f, account: a, verbs: s.dev.OpenContext(contextLimits),
		bell: make(chan struct{}, 1), done: make(chan struct{}), channels: map[*eventFile]struct{}{},
		ports:    source{handle: port},
		refusals: make(chan refusal),
	}
	// No queue pair can send yet. If this fails (file system), posts before RTS succeed.
	_ = f.RefuseDoorbells(true)
	if o, ok := space.(interface{ Owner() string }); ok {
		c.verbs.SetOwner(o.Owner())
	}
	c.uses.Store(3)
	c.events = newEventWriter(c.done, c.unuse)
	// No code waits for the two goroutines, because the program can block them: answerDoorbells by
	// a write that does not end (see ringfile.File.Doorbells). Closed queue pairs fetch nothing.
	go c.answerDoorbells()
	return c
}

// File returns the file of which the program gets a duplicate; see [ringfile.File.Program].
func (c *Context) File() *ringfile.File { return c.file }

// Doorbell implements [ringfile.Events].
func (c *Context) Doorbell() {
	select {
	case c.bell <- struct{}{}:
	default: // an earlier doorbell is still pending
	}
}

// Released implements [ringfile.Events]: the program has closed the device file, or has ended.
func (c *Context) Released() { go c.Close() } // the watcher's goroutine must not block

// answerDoorbells makes the queue pairs fetch what the program has posted. It has its own
// goroutine, so that no program waits for another.
func (c *Context) answerDoorbells() {
	defer c.unuse()
	for {
		select {
		case <-c.bell:
			c.bells.answer(c.file)
		case r := <-c.refusals:
			// The error is ignored: the file cannot refuse doorbells, or a process without the
			// right to make calls has inherited it.
			_ = c.file.RefuseDoorbells(r.refuse)
			close(r.done)
		case <-c.done:
			return
		}
	}
}

// OnClose sets the function f that is called once when all objects of the context have ended and
// its file is still open, or now if they have ended. Afterwards the inode number of the file may
// be reused.
func (c *Context) OnClose(f func()) {
	c.mu.Lock()
	ended := c.objectsEnded
	c.onClose = f
	c.mu.Unlock()
	if ended {
		f()
	}
}

// Close ends all objects of the program. When it returns, the program's memory is no longer
// accessed. Later calls wait for the first one and return its error.
func (c *Context) Close() error {
	c.closing.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Context) close() error {
	defer c.server.forget(c)
	close(c.done) // first: it ends calls that wait for the program
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.server.watcher.Remove(c.file)
	err := errors.Join(c.verbs.Close(), c.closeObjects()) // flushes queues, so before their rings are closed
	c.mu.Lock()
	f := c.onClose
	c.objectsEnded = true
	c.mu.Unlock()
	if f != nil {
		f()
	}
	err = errors.Join(err, closeSpace(c.space), c.file.Close())
	c.unuse()
	return err
}

// closeObjects releases what objects hold outside the device: rings, memory, event files.
func (c *Context) closeObjects() error {
	var errs []error
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.qps.all {
		c.server.routes.remove(q.qp)
		errs = append(errs, q.closeRings())
	}
	for _, s := range c.srqs.all {
		errs = append(errs, s.close())
	}
	for _, q := range c.cqs.all {
		c.server.routes.remove(q.cq)
		errs = append(errs, q.closeRing())
	}
	for _, r := range c.mrs.all {
		errs = append(errs, r.closeMemory())
	}
	for ch := range c.channels {
		ch.close()
	}
	if e := c.async.Load(); e != nil {
		e.close()
	}
	c.events.stop() // does not wait for the writer, which the program can delay
	return errors.Join(errs...)
}
