package uverbs

import (
	"fmt"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/host/ringfile"
)

// An Accounted is a [CallerMemory] with the program and the user that its context is counted for:
// contexts with equal programs share the limits of a program, those with equal users the limits
// of a user. Any other space is its own program. A nil user means all programs.
type Accounted interface {
	Account() (program, user any)
}

// accounts counts the resources of the programs of a server. All methods are safe for concurrent
// use.
type accounts struct {
	mu    sync.Mutex
	all   map[any]*account // guarded by mu, as are the accounts
	users map[any]*account
}

// An account is that of a program or of a user.
type account struct {
	key    any
	limits amounts
	used   amounts
	refs   int           // contexts
	user   *account      // nil for a user's account
	ended  chan struct{} // closed when the next context ends; nil if no call waits for it
}

// openAccount returns the account for a new context; close returns it.
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

// endPatience is how long an open waits for the end of a context that the program may have
// closed: it ends some time after the program's close(2) has returned.
const endPatience = time.Second

// takeContext acquires one context. At a limit it waits for the end of another one of the
// program.
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

// give releases n units.
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

// give releases n units. The caller holds the context's lock.
func (c *Context) give(r resource, n int64) {
	c.taken[r] -= n
	c.server.accounts.give(c.account, r, n)
}

// unuse removes a user of the account. The last one releases all resources.
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
