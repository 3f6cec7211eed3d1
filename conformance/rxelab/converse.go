package rxelab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/transcript"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// converse runs the two ends and returns what failed. The error is that of a lost machine or of
// the context.
func (l cellLane) converse(ctx context.Context, c cell.Cell, server, client *machine.Program,
	port int) ([]error, error) {
	limit := c.Timeout()
	if server != nil {
		if problems, err := l.serve(ctx, c, server, port); problems != nil || err != nil {
			return problems, err
		}
	}
	if server == nil || held(c, server) {
		return l.attempt(ctx, c, server, client)
	}
	if err := client.Start(l.Session, limit, 0); err != nil {
		return []error{err}, machine.ErrLost
	}
	first, second := client, server
	select {
	case <-client.Process.Done():
	case <-server.Process.Done():
		first, second = server, client
	case <-time.After(limit + machine.GraceKill):
		return []error{fmt.Errorf("no end within %v", limit)}, machine.ErrLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	grace := machine.GraceDone
	if first.Process.Result().Code != 0 {
		grace = machine.GraceFailed
	}
	select {
	case <-second.Process.Done():
	case <-time.After(grace):
		err := fmt.Errorf("%s: still running %v after %s ended: %s", second.Name, grace, first.Name,
			transcript.LastLines(second.Log.String()))
		problems := append([]error{first.Verdict(c, first == client)}, err)
		return slices.DeleteFunc(problems, isNil), machine.Reap(second)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	problems := []error{first.Verdict(c, first == client), second.Verdict(c, second == client)}
	return slices.DeleteFunc(problems, isNil), nil
}

// serve starts the server and waits until it listens.
func (l cellLane) serve(ctx context.Context, c cell.Cell, server *machine.Program, port int) ([]error, error) {
	where, watched := fmt.Sprintf("on TCP port %d", port), port
	if c.Workload.Tool.CM {
		where, watched = fmt.Sprintf("with its connection manager on port %d", port), 0
	}
	if err := server.Start(l.Session, c.Timeout()+machine.GraceDone, watched); err != nil {
		return []error{err}, machine.ErrLost
	}
	late := func() ([]error, error) {
		err := fmt.Errorf("%s: did not listen %s within %v: %s", server.Name, where, c.StartTime(),
			transcript.LastLines(server.Log.String()))
		return []error{err}, machine.Reap(server)
	}
	if c.Workload.Tool.CM {
		ok, err := l.Listening(ctx, server, port, c.StartTime())
		if err != nil {
			return nil, errors.Join(ctx.Err(), l.Alive())
		}
		if !ok {
			return late()
		}
	} else {
		select {
		case <-server.Process.Ready():
		case <-server.Process.Done():
		case <-time.After(c.StartTime()):
			return late()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	select {
	case <-server.Process.Done():
		r := server.Process.Result()
		return []error{fmt.Errorf("%s ended before it listened %s: %s: %s", server.Name, where, vm.Describe(r),
			transcript.LastLines(server.Log.String()))}, nil
	default:
		return nil, nil
	}
}

// held reports whether the lab must end the server, because nothing else does.
func held(c cell.Cell, server *machine.Program) bool {
	t := c.Workload.Tool.Talk
	stock := server.In == "" || c.Workload.Tool.UnderRun
	return t != nil && (t.Outcome != cell.Connected || t.Daemon || t.Endless && stock)
}

// attempt is converse without a server, or with one that does not end by itself.
func (l cellLane) attempt(ctx context.Context, c cell.Cell, server, client *machine.Program) ([]error, error) {
	if c.Outcome() == cell.Unreachable && server != nil {
		if err := machine.Reap(server); err != nil {
			return nil, err
		}
		server = nil
	}
	limit := c.Timeout()
	if err := client.Start(l.Session, limit, 0); err != nil {
		return []error{err}, machine.ErrLost
	}
	select {
	case <-client.Process.Done():
	case <-time.After(limit + machine.GraceKill):
		return []error{fmt.Errorf("no end within %v", limit)}, machine.ErrLost
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	problems := []error{client.Verdict(c, true)}
	if server == nil {
		return slices.DeleteFunc(problems, isNil), nil
	}
	select {
	case <-server.Process.Done():
		r := server.Process.Result()
		problems = append(problems, fmt.Errorf("%s ended before the lab ended it: %s: %s", server.Name, vm.Describe(r),
			transcript.LastLines(server.Log.String())))
	default:
		if err := machine.Reap(server); err != nil {
			return slices.DeleteFunc(problems, isNil), err
		}
		problems = append(problems, server.Heard(c, false, false))
	}
	return slices.DeleteFunc(problems, isNil), nil
}

func isNil(err error) bool { return err == nil }
