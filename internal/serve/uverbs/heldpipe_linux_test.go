package uverbs

import (
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/host/pipetest"
	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

// arm requests a completion event.
func (e *end) arm() {
	e.Helper()
	if _, _, err := e.tryCommand(uapi.CmdReqNotifyCQ, uapi.ReqNotifyCQ{CQHandle: e.cq}, 0); err != nil {
		e.Fatal(err)
	}
}

// receive receives one message from the peer and waits for its completion.
func (e *end) receive(from *end) {
	e.Helper()
	e.recv.post(recvWQE(1, e.addr, 64, e.mr.LKey))
	from.send.post(sendWQE(2, from.addr, 8, from.mr.LKey))
	from.ring()
	e.poll(e.comp)
	from.poll(from.comp)
}

func TestAProgramThatHoldsItsChannelDelaysNoCompletion(t *testing.T) {
	a, b := newPair(t)
	b.arm()
	b.receive(a)
	fds := []unix.PollFd{{Fd: int32(b.channel), Events: unix.POLLIN}}
	_, err := unix.Poll(fds, 60_000)
	for err == unix.EINTR {
		_, err = unix.Poll(fds, 60_000)
	}
	if err != nil {
		t.Fatal(err)
	}
	free := pipetest.Hold(t, b.channel)
	for range 3 {
		b.arm()
		b.receive(a)
	}
	free()
	nextRecord(t, b.channel, compRecord)
}

func TestAProgramThatHoldsItsEventsDelaysNoOther(t *testing.T) {
	d, up := portDevice(t)
	s := serverOn(t, d)
	a, b := newEnd(t, s, uapi.QPTypeRC), newEnd(t, s, uapi.QPTypeRC)
	up(false)
	a.wantEvent(uapi.EventPortErr, 1)
	b.wantEvent(uapi.EventPortErr, 1)
	up(true)
	b.wantEvent(uapi.EventPortActive, 1)
	a.ctx.events.quiet()
	free := pipetest.Hold(t, a.async)
	for range 3 {
		up(false)
		b.wantEvent(uapi.EventPortErr, 1)
		up(true)
		b.wantEvent(uapi.EventPortActive, 1)
	}
	free()
}

func TestAContextEndsWhileItsProgramHoldsAPipe(t *testing.T) {
	a, b := newPair(t)
	b.arm()
	b.receive(a)
	b.ctx.events.quiet()
	free := pipetest.Hold(t, b.channel)
	// A call that waits for the pipe ends with the context.
	if _, err := b.try(uapi.MethodQPDestroy, attr{id: uapi.AttrDestroyQPHandle, in: handle(b.qp)},
		out(uapi.AttrDestroyQPResp, 4)); err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	go func() {
		defer close(waits)
		_, _ = b.try(uapi.MethodCQDestroy, attr{id: uapi.AttrDestroyCQHandle, in: handle(b.cq)},
			out(uapi.AttrDestroyCQResp, 8))
	}()
	b.until("the call waits", func() bool { return !b.ctx.mu.TryLock() || unlock(&b.ctx.mu) })
	if err := b.ctx.Close(); err != nil {
		t.Error(err)
	}
	<-waits
	free()
}

// unlock unlocks mu and returns false.
func unlock(mu *sync.Mutex) bool {
	mu.Unlock()
	return false
}
