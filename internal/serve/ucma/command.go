//go:build linux

package ucma

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// A Caller is the thread of a program whose command is answered.
type Caller interface {
	// Read fills p with the bytes at addr of the caller's memory, or fails.
	Read(addr uint64, p []byte) error
	// Write stores p at addr of the caller's memory, or fails.
	Write(addr uint64, p []byte) error
	// NonBlocking reports whether the descriptor that was written to has O_NONBLOCK.
	NonBlocking() bool
	// OnInterrupt asks for a call of f, once, when the caller has a signal to handle or is gone.
	OnInterrupt(f func())
	// Channel returns the channel that has the descriptor fd of the caller's process, nil for any other descriptor.
	Channel(fd int32) *Channel
	// QP returns the queue pair of the caller's process with a number, nil if it has none.
	QP(n verbs.QPN) *verbs.QP
}

// A request is a command of a program while it is answered.
type request struct {
	ch     *Channel
	caller Caller
	call   uapi.UCMCall
	done   func(error)

	// What a command needs from the program besides the request, fetched before the lock is taken.
	option  []byte    // of SET_OPTION
	channel *Channel  // that MIGRATE_ID names
	qp      *verbs.QP // that CONNECT or ACCEPT names

	response uint64 // address
	undo     func() // what a response that cannot be stored takes back; called with the lock held
}

// A command is how one of uapi.UCMCommandSpecs is executed.
type command struct {
	// run executes it with Server.mu held. A response is stored after that; nil is none.
	run func(*request) (any, error)
	// fetch gets what else run needs from the program, without the lock; nil is nothing.
	fetch func(*request) error
}

// commands are those that are served; GET_EVENT is besides them.
var commands map[uapi.UCMCommand]command

func init() {
	commands = map[uapi.UCMCommand]command{
		uapi.UCMCmdCreateID:     {run: with((*request).createID)},
		uapi.UCMCmdDestroyID:    {run: with((*request).destroyID)},
		uapi.UCMCmdBindIP:       {run: with((*request).bindIP)},
		uapi.UCMCmdBind:         {run: with((*request).bindAddr)},
		uapi.UCMCmdResolveIP:    {run: with((*request).resolveIP)},
		uapi.UCMCmdResolveAddr:  {run: with((*request).resolveAddr)},
		uapi.UCMCmdResolveRoute: {run: with((*request).resolveRoute)},
		uapi.UCMCmdQueryRoute:   {run: with((*request).queryRoute)},
		uapi.UCMCmdQuery:        {run: with((*request).query)},
		uapi.UCMCmdConnect:      {run: with((*request).connect), fetch: fetchQP(connectParam)},
		uapi.UCMCmdListen:       {run: with((*request).listen)},
		uapi.UCMCmdAccept:       {run: with((*request).accept), fetch: fetchQP(acceptParam)},
		uapi.UCMCmdReject:       {run: with((*request).reject)},
		uapi.UCMCmdDisconnect:   {run: with((*request).disconnect)},
		uapi.UCMCmdInitQPAttr:   {run: with((*request).initQPAttr)},
		uapi.UCMCmdSetOption:    {run: with((*request).setOption), fetch: (*request).fetchOption},
		uapi.UCMCmdNotify:       {run: with((*request).notify)},
		uapi.UCMCmdJoinIPMcast:  {run: with((*request).joinIP)},
		uapi.UCMCmdJoinMcast:    {run: with((*request).join)},
		uapi.UCMCmdLeaveMcast:   {run: with((*request).leave)},
		uapi.UCMCmdMigrateID:    {run: with((*request).migrate), fetch: (*request).fetchChannel},
	}
}

// decode returns the request as a structure. Bytes beyond it are ignored.
func decode[Q any](r *request) (*Q, error) {
	var q Q
	return &q, uapi.Decode(uapi.Truncate(r.call.Req, uapi.SizeOf(q)), &q)
}

// with decodes the request of a command.
func with[Q any](f func(*request, *Q) (any, error)) func(*request) (any, error) {
	return func(r *request) (any, error) {
		q, err := decode[Q](r)
		if err != nil {
			return nil, err
		}
		return f(r, q)
	}
}

// Write answers write(2) of b. done is called once, perhaps later and by another goroutine: with nil for len(b), or
// with an error that wraps a [uapi.Errno] or is [ErrInterrupted].
func (ch *Channel) Write(caller Caller, b []byte, done func(error)) {
	call, err := uapi.ParseUCM(b)
	if err != nil {
		done(err)
		return
	}
	r := &request{ch: ch, caller: caller, call: call, done: done}
	if call.Spec.Command == uapi.UCMCmdGetEvent {
		q, err := decode[uapi.UCMGetEvent](r)
		if err != nil {
			done(err)
			return
		}
		r.response = q.Response
		r.getEvent()
		return
	}
	err = r.execute()
	// A program that looks after the call finds the events that it has left.
	ch.level.settle()
	if r.channel != nil {
		r.channel.level.settle()
	}
	r.end(err)
}

func (r *request) end(err error) {
	if err != nil && err != ErrInterrupted {
		err = fmt.Errorf("%v: %w", r.call.Spec.Command, err)
	}
	r.done(err)
}

// execute executes a command that does not wait.
func (r *request) execute() error {
	c := commands[r.call.Spec.Command]
	if c.run == nil {
		return fmt.Errorf("it is not served: %w", uapi.ENOSYS)
	}
	if c.fetch != nil {
		if err := c.fetch(r); err != nil {
			return err
		}
	}
	resp, err := r.locked(c.run)
	if err != nil || resp == nil {
		return err
	}
	if err := r.respond(resp); err != nil {
		if r.undo != nil {
			r.ch.server.mu.Lock()
			r.undo()
			r.ch.server.mu.Unlock()
		}
		return err
	}
	return nil
}

func (r *request) locked(run func(*request) (any, error)) (any, error) {
	r.ch.server.mu.Lock()
	defer r.ch.server.mu.Unlock()
	if r.ch.closed {
		return nil, fmt.Errorf("the channel is closed: %w", uapi.EBADF)
	}
	return run(r)
}

// respond stores a response, as much of it as the program has room for.
func (r *request) respond(v any) error {
	b, ok := v.([]byte)
	if !ok {
		b = uapi.Encode(v)
	}
	if err := r.caller.Write(r.response, uapi.Truncate(b, r.call.Out)); err != nil {
		return fmt.Errorf("storing a response at %#x of the program: %w: %w", r.response, uapi.EFAULT, err)
	}
	return nil
}

func connectParam(q *uapi.UCMConnect) *uapi.UCMConnParam { return &q.ConnParam }
func acceptParam(q *uapi.UCMAccept) *uapi.UCMConnParam   { return &q.ConnParam }

// fetchQP finds the queue pair that the parameters of a connection name.
func fetchQP[Q any](param func(*Q) *uapi.UCMConnParam) func(*request) error {
	return func(r *request) error {
		q, err := decode[Q](r)
		if err == nil && param(q).Valid != 0 {
			r.qp = r.caller.QP(verbs.QPN(param(q).QPNum))
		}
		return err
	}
}
