package uverbs

import (
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/host/ringfile"
)

// An Accounted is a [CallerMemory] that names the program and the user of its context: contexts
// with equal programs share the limits of a program, contexts with equal users the limits of a
// user. Both values must be comparable. A nil user stands for the one user of all programs. A
// CallerMemory that is no Accounted is a program of its own, with a nil user.
type Accounted interface {
	Account() (program, user any)
}

// accounts counts the resources of the programs of a server. All methods are safe for concurrent
// use.
type accounts struct {
	mu    sync.Mutex
	all   map[any]*account // by program; guarded by mu, as are the accounts
	users map[any]*account // by user
}

// An account counts the resources of a program or of a user.
type account struct {
	key    any // program or user; nil for a program that shares its account with no other context
	limits amounts
	used   amounts
	refs   int           // number of contexts
	user   *account      // nil for a user's account
	ended  chan struct{} // closed when the next context ends; nil if no call waits for it
}

// openAccount returns the account of the program for a new context. accounts.close releases it.
func (s *Server) openAccount(space CallerMemory, f *ringfile.File) *account {
	var program, user any
	if a, ok := space.(Accounted); ok {
		program, user = a.Account()
	}
	limits := s.userLimits(user != nil, f)
	t := &s.accounts
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all, t.users = map[any]*account{}, map[any]*account{}
	}
	a := t.all[program]
	if a == nil || program == nil {
		a = &account{key: program, limits: programLimits}
		if a.user = t.users[user]; a.user == nil {
			a.user = &account{key: user, limits: limits}
			t.users[user] = a.user
		}
		if program != nil {
			t.all[program] = a
		}
	}
	a.refs++
	a.user.refs++
	return a
}

// close releases the account of a context that has ended.
func (t *accounts) close(a *account) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.refs--
	a.user.refs--
	if a.ended != nil {
		close(a.ended)
		a.ended = nil
	}
	if a.refs == 0 && a.key != nil {
		delete(t.all, a.key)
	}
	if a.user.refs == 0 {
		delete(t.users, a.user.key)
	}
}

// take acquires n units of a resource. The error names the exceeded limit.
func (t *accounts) take(a *account, r resource, n int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch k := resourceInfo[r]; {
	case a.used[r]+n > a.limits[r]:
		return fmt.Errorf("the program has %d %s, the limit is %d: %w", a.used[r], k.name, a.limits[r], k.program)
	case a.user.used[r]+n > a.user.limits[r]:
		return fmt.Errorf("the programs of the user have %d %s, the limit is %d: %w", a.user.used[r], k.name,
			a.user.limits[r], k.user)
	}
	a.used[r] += n
	a.user.used[r] += n
	return nil
}

// endPatience is how long an open waits, at the limit, for the end of a context that the program
// may have closed: a context ends only some time after the program's close(2) has returned.
const endPatience = time.Second

// takeContext acquires one context. At a limit it waits up to endPatience for the end of another
// context of the program.
func (t *accounts) takeContext(a *account) error {
	err := t.take(a, contexts, 1)
	if err == nil {
		return nil
	}
	late := time.NewTimer(endPatience)
	defer late.Stop()
	for {
		t.mu.Lock()
		if a.ended == nil {
			a.ended = make(chan struct{})
		}
		ended := a.ended
		t.mu.Unlock()
		if err = t.take(a, contexts, 1); err == nil {
			return nil
		}
		select {
		case <-ended:
		case <-late.C:
			return err
		}
	}
}

// give releases n units of a resource.
func (t *accounts) give(a *account, r resource, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	a.used[r] -= n
	a.user.used[r] -= n
}

// take acquires n units of a resource for the context. The caller holds the context's lock.
func (c *Context) take(r resource, n int64) error {
	err := c.server.accounts.take(c.account, r, n)
	if err == nil {
		c.taken[r] += n
	}
	return err
}

// give releases n units of a resource of the context. The caller holds the context's lock.
func (c *Context) give(r resource, n int64) {
	c.taken[r] -= n
	c.server.accounts.give(c.account, r, n)
}

// unuse decrements uses. At zero it releases all resources of the context.
func (c *Context) unuse() {
	if c.uses.Add(-1) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for r := range c.taken {
		c.give(resource(r), c.taken[r])
	}
	c.server.accounts.close(c.account)
}
