//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// erestartsys is ERESTARTSYS: the kernel turns it into EINTR or restarts the call, depending on
// SA_RESTART of the signal's handler. If no signal is pending, the program sees it as an errno.
const erestartsys = 512

// erestartnointr is ERESTARTNOINTR: the kernel always restarts the call after the signal's
// handler. Like erestartsys, it requires a pending signal.
const erestartnointr = 513

// A Call is a trapped system call that waits for an answer. All methods are safe for concurrent
// use. Only the first answer takes effect; later ones return [ErrAnswered]. An answer returns
// [ErrGone] if the caller was killed: the answer did not reach it.
type Call struct {
	s      *Server
	n      notification
	group  int // thread group ID of the caller, for the scheduler
	proc   ProcID
	open   *Device // device being opened, for ReplyFD; nil for other calls
	exec   bool    // the open has O_CLOEXEC
	queued bool    // guarded by scheduler.mu
	wait   *parked // set if the call was queued

	answered atomic.Bool
	parked   atomic.Pointer[parked] // set by OnInterrupt
	verdict  atomic.Uint32          // last verdict about the caller
}

// TID returns the thread ID of the caller, in the PID namespace of this process.
func (c *Call) TID() int { return int(c.n.tid) }

// Proc returns the process of the caller.
func (c *Call) Proc() ProcID { return c.proc }

// Server returns the server that received the call, for [Server.Forget].
func (c *Call) Server() *Server { return c.s }

// Arg returns argument i of the system call, 0 to 5.
func (c *Call) Arg(i int) uint64 { return c.n.args[i] }

// Reply makes the call return val, which must not be negative.
func (c *Call) Reply(val int64) error {
	return c.respond(&response{val: val})
}

// ReplyErrno makes the call fail with errno.
func (c *Call) ReplyErrno(errno unix.Errno) error {
	return c.respond(&response{err: -int32(errno)})
}

// Continue lets the kernel execute the call.
func (c *Call) Continue() error {
	return c.respond(&response{flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
}

func (c *Call) respond(r *response) error {
	if !c.take() {
		return ErrAnswered
	}
	r.id = c.n.id
	return c.s.listener.respond(r)
}

// take claims the right to answer the call. It returns false if the call is already answered.
func (c *Call) take() bool {
	if !c.answered.CompareAndSwap(false, true) {
		return false
	}
	if p := c.parked.Load(); p != nil {
		c.s.waiting.remove(p)
	}
	return true
}

// An FD is a descriptor to install in the program of a caller.
type FD struct {
	File        int    // descriptor of this process to duplicate
	Object      Object // object that calls on the descriptor concern; nil: the kernel handles the calls
	Slot        Slot   // selects the number in the program; ReplyFD to an open uses Device.Slot instead
	CloseOnExec bool   // FD_CLOEXEC; ReplyFD to an open uses the open's O_CLOEXEC instead
}

// InstallFD installs a descriptor in the caller and returns its number; the call still waits for
// its answer. It returns EMFILE if no number is free. [Server.Forget] removes the association
// between the file and the object.
func (c *Call) InstallFD(f FD) (int, error) {
	return c.install(f, 0)
}

// ReplyFD installs a descriptor in the caller and makes the call return its number. If that fails,
// the call fails with the same errno, for example EMFILE if no number is free, and ReplyFD returns
// that errno.
func (c *Call) ReplyFD(f FD) error {
	if c.open != nil {
		f.Slot, f.CloseOnExec = c.open.Slot, c.exec
	}
	if !c.take() {
		return ErrAnswered
	}
	_, err := c.install(f, unix.SECCOMP_ADDFD_FLAG_SEND)
	if err == nil || errors.Is(err, ErrGone) {
		return err
	}
	var errno unix.Errno
	if !errors.As(err, &errno) {
		errno = unix.EIO
	}
	if e := c.s.listener.respond(&response{id: c.n.id, err: -int32(errno)}); e != nil {
		return e
	}
	return err
}

// install installs f in the caller and returns its number. flags are SECCOMP_ADDFD_FLAG_*.
func (c *Call) install(f FD, flags uint32) (int, error) {
	undo, err := c.s.objects.add(f.File, f.Object, c.open)
	if err != nil {
		return 0, err
	}
	a := addFD{id: c.n.id, flags: flags, srcFD: uint32(f.File)}
	if f.CloseOnExec {
		a.newFDFlags = unix.O_CLOEXEC
	}
	var n int
	if f.Slot == SlotLowest {
		n, err = c.s.listener.addFD(&a)
	} else {
		n, err = c.s.installReserved(c, &a, f.Slot, 0)
	}
	if err != nil {
		undo()
	}
	return n, err
}

// OnInterrupt requests a call of f, on a goroutine of the server, when the caller has a signal to
// handle ([ErrInterrupted]) or was killed, or when the server closes ([ErrGone]). f must not block.
// It is called at most once, about Config.SignalPoll after the signal, and never after an answer;
// an answer that another goroutine gives at the same time takes precedence. After ErrInterrupted,
// the handler cancels the operation and answers with ReplyInterrupted: the caller runs its signal
// handlers only after the answer. OnInterrupt may be called once per call.
func (c *Call) OnInterrupt(f func(error)) {
	p := &parked{call: c, interrupted: f}
	c.parked.Store(p)
	c.s.waiting.add(p)
	if c.answered.Load() {
		c.s.waiting.remove(p)
	}
}

// ReplyInterrupted ends a call whose caller has a pending signal: the call fails with EINTR or is
// restarted, depending on SA_RESTART of the signal's handler. Without such a signal it returns
// [ErrNotInterrupted], and the call still waits for its answer.
func (c *Call) ReplyInterrupted() error {
	if c.answered.Load() {
		return ErrAnswered
	}
	v := c.verdict.Load()
	if v == mayWait {
		v = interruption("/proc", c.TID())
	}
	switch v {
	case mayRestart:
		return c.respond(&response{err: -erestartsys})
	case mayFail:
		return c.ReplyErrno(unix.EINTR)
	}
	if !c.Valid() {
		return ErrGone
	}
	return ErrNotInterrupted
}
