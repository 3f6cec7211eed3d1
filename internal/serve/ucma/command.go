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
	// NonBlocking reports whether the descriptor of the write has O_NONBLOCK.
	NonBlocking() bool
	// OnInterrupt requests a call of f, once, when the caller has a pending signal or has ended.
	OnInterrupt(f func())
	// Channel returns the channel of descriptor fd of the caller's process, nil if it is no
	// channel.
	Channel(fd int32) *Channel
	// QP returns the queue pair of the caller's process with the number n, nil if there is none.
	QP(n verbs.QPN) *verbs.QP
}

// A request is a command of a program in progress.
type request struct {
	ch     *Channel
	caller Caller
	call   uapi.UCMCall
	done   func(error) // see Channel.Write

	// Values that a command needs from the program besides the request, fetched before the lock
	// is acquired.
	option  []byte    // of SET_OPTION
	channel *Channel  // named by MIGRATE_ID
	qp      *verbs.QP // named by CONNECT or ACCEPT

	response uint64 // address of the program's buffer for the response
	undo     func() // reverts the command if the response cannot be stored; called with the lock held
}

// A command implements one of uapi.UCMCommandSpecs.
type command struct {
	// run executes the command with Server.mu held. The response is stored afterwards; nil means
	// none.
	run func(*request) (any, error)
	// fetch gets the other values that run needs from the program, without the lock; nil means
	// none.
	fetch func(*request) error
}

// commands are the supported commands, except GET_EVENT.
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

// decode decodes the request. Bytes beyond the structure are ignored.
func decode[Q any](r *request) (*Q, error) {
	var q Q
	return &q, uapi.Decode(uapi.Truncate(r.call.Req, uapi.SizeOf(q)), &q)
}

// with returns command.run for f, which takes the decoded request Q.
func with[Q any](f func(*request, *Q) (any, error)) func(*request) (any, error) {
	return func(r *request) (any, error) {
		q, err := decode[Q](r)
		if err != nil {
			return nil, err
		}
		return f(r, q)
	}
}

// Write answers write(2) of b. done is called once, perhaps later and in another goroutine: with
// nil if write(2) returns len(b), otherwise with an error that wraps a [uapi.Errno] or is
// [ErrInterrupted].
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
	// A program that polls after the call must find the remaining events.
	ch.level.settle()
	if r.channel != nil {
		r.channel.level.settle()
	}
	r.end(err)
}

// end ends the command with the result err.
func (r *request) end(err error) {
	if err != nil && err != ErrInterrupted {
		err = fmt.Errorf("%v: %w", r.call.Spec.Command, err)
	}
	r.done(err)
}

// execute executes a command that does not block.
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

// respond stores a response, truncated to the space that the program provides.
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

// fetchQP returns command.fetch for a request Q with parameters of a connection, which param
// returns: it fetches the queue pair that they name.
func fetchQP[Q any](param func(*Q) *uapi.UCMConnParam) func(*request) error {
	return func(r *request) error {
		q, err := decode[Q](r)
		if err == nil && param(q).Valid != 0 {
			r.qp = r.caller.QP(verbs.QPN(param(q).QPNum))
		}
		return err
	}
}
