//go:build linux && (amd64 || arm64)

package trap

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// erestartsys is ERESTARTSYS: the kernel makes it EINTR or repeats the call, as SA_RESTART of
// the signal's handler says. It reaches the program as an errno if no signal is pending.
const erestartsys = 512

// A Call is a system call of a program that waits for an answer. All methods are safe for
// concurrent use. The first answer counts; further ones return [ErrAnswered]. An answer returns
// [ErrGone] if the caller was killed: nobody saw it.
type Call struct {
	s    *Server
	n    notification
	proc ProcID
	open *Device // device of an open, for ReplyFD
	exec bool    // the open has O_CLOEXEC

	answered atomic.Bool
	parked   atomic.Pointer[parked] // of OnInterrupt
	verdict  atomic.Uint32          // verdict of the last look at the caller
}

// TID returns the thread id of the caller, in the PID namespace of this process.
func (c *Call) TID() int { return int(c.n.tid) }

// Proc returns the process of the caller.
func (c *Call) Proc() ProcID { return c.proc }

// Server returns the server that got the call, for [Server.Forget].
func (c *Call) Server() *Server { return c.s }

// Arg returns an argument of the system call, 0 to 5.
func (c *Call) Arg(i int) uint64 { return c.n.args[i] }

// Reply lets the call return val, which is not negative.
func (c *Call) Reply(val int64) error {
	return c.respond(&response{val: val})
}

// ReplyErrno lets the call fail.
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

// take claims the right to answer.
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
	File        int    // descriptor of this process; it is duplicated
	Object      Object // object of calls on it, nil: the kernel handles them
	Slot        Slot   // number that it gets; in ReplyFD to an open, that of the device counts
	CloseOnExec bool   // in ReplyFD to an open, O_CLOEXEC of the open counts
}

// InstallFD installs a descriptor in the caller and returns its number; the call still waits
// for its answer. It returns EMFILE if there is no free number. [Server.Forget] ends the
// connection between the file and the object.
func (c *Call) InstallFD(f FD) (int, error) {
	return c.install(f, 0)
}

// ReplyFD installs a descriptor in the caller and lets the call return its number. If that
// fails the call fails with the errno, EMFILE if there is no free number, and ReplyFD returns it.
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

// OnInterrupt asks for a call of f, on a goroutine of the server, when the caller has a signal
// to handle ([ErrInterrupted]) or was killed, or the server is closed ([ErrGone]). f must not
// block. It is called at most once, about Config.SignalPoll after the signal, and not after an
// answer; an answer that is given meanwhile by another goroutine wins. After ErrInterrupted the
// handler gives up what the caller waits for and answers with ReplyInterrupted: the caller
// cannot run its signal handlers before. A call takes one OnInterrupt.
func (c *Call) OnInterrupt(f func(error)) {
	p := &parked{call: c, interrupted: f}
	c.parked.Store(p)
	c.s.waiting.add(p)
	if c.answered.Load() {
		c.s.waiting.remove(p)
	}
}

// ReplyInterrupted ends a call whose caller has a pending signal: the call fails with EINTR or
// is made again, as SA_RESTART of the signal's handler says. Without such a signal it returns
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
