package rxelab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// converse lets the two ends talk, and returns what went wrong.
func (l cellLane) converse(ctx context.Context, c Cell, server, client *program, port int) ([]error, error) {
	limit := c.Timeout()
	if server != nil {
		if problems, err := l.serve(ctx, c, server, port); problems != nil || err != nil {
			return problems, err
		}
	}
	if server == nil || held(c, server) {
		return l.attempt(ctx, c, server, client)
	}
	if err := client.start(l.s, limit, 0); err != nil {
		return []error{err}, errLost
	}
	first, second := client, server
	select {
	case <-client.p.Done():
	case <-server.p.Done():
		first, second = server, client
	case <-time.After(limit + graceKill):
		return []error{fmt.Errorf("no end within %v", limit)}, errLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	grace := graceDone
	if first.p.Result().Code != 0 {
		grace = graceFailed
	}
	select {
	case <-second.p.Done():
	case <-time.After(grace):
		err := fmt.Errorf("%s: still running %v after %s ended: %s", second.name, grace, first.name, lastLines(second.log.String()))
		problems := append([]error{first.verdict(c, first == client)}, err)
		return slices.DeleteFunc(problems, isNil), reap(second)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	problems := []error{first.verdict(c, first == client), second.verdict(c, second == client)}
	return slices.DeleteFunc(problems, isNil), nil
}

// serve starts the server and waits until it listens.
func (l cellLane) serve(ctx context.Context, c Cell, server *program, port int) ([]error, error) {
	where, watched := fmt.Sprintf("on TCP port %d", port), port
	if c.Workload.Tool.CM {
		where, watched = fmt.Sprintf("with its connection manager on port %d", port), 0
	}
	if err := server.start(l.s, c.Timeout()+graceDone, watched); err != nil {
		return []error{err}, errLost
	}
	late := func() ([]error, error) {
		err := fmt.Errorf("%s: did not listen %s within %v: %s", server.name, where, c.base(), lastLines(server.log.String()))
		return []error{err}, reap(server)
	}
	if c.Workload.Tool.CM {
		ok, err := l.listening(ctx, server, port, c.base())
		if err != nil {
			return nil, errors.Join(ctx.Err(), l.alive())
		}
		if !ok {
			return late()
		}
	} else {
		select {
		case <-server.p.Ready():
		case <-server.p.Done():
		case <-time.After(c.base()):
			return late()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-server.p.Done():
		r := server.p.Result()
		return []error{fmt.Errorf("%s ended before it listened %s: %s: %s", server.name, where, vm.Describe(r), lastLines(server.log.String()))}, nil
	default:
		return nil, nil
	}
}

// held reports whether the lab has to end the server, as nothing else does.
func held(c Cell, server *program) bool {
	t := c.Workload.Tool.Talk
	return t != nil && (t.Outcome != Connected || t.Daemon || t.Endless && server.in == "")
}

// attempt is converse without a server, or with one that does not end by itself.
func (l cellLane) attempt(ctx context.Context, c Cell, server, client *program) ([]error, error) {
	if c.outcome() == Unreachable && server != nil {
		if err := reap(server); err != nil {
			return nil, err
		}
		server = nil
	}
	limit := c.Timeout()
	if err := client.start(l.s, limit, 0); err != nil {
		return []error{err}, errLost
	}
	select {
	case <-client.p.Done():
	case <-time.After(limit + graceKill):
		return []error{fmt.Errorf("no end within %v", limit)}, errLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	problems := []error{client.verdict(c, true)}
	if server == nil {
		return slices.DeleteFunc(problems, isNil), nil
	}
	select {
	case <-server.p.Done():
		r := server.p.Result()
		problems = append(problems, fmt.Errorf("%s ended before the lab ended it: %s: %s", server.name, vm.Describe(r), lastLines(server.log.String())))
	default:
		if err := reap(server); err != nil {
			return slices.DeleteFunc(problems, isNil), err
		}
		problems = append(problems, server.heard(c, false, false))
	}
	return slices.DeleteFunc(problems, isNil), nil
}

func isNil(err error) bool { return err == nil }
