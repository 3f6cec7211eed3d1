package uverbs

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// nextRecord reads a record of an event file, waiting for it.
func nextRecord(t testing.TB, fd, size int) []byte {
	t.Helper()
	b := make([]byte, size)
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(fds, 60_000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 || err != nil {
			t.Fatalf("no event within a minute: %v", err)
		}
		if n, err := unix.Read(fd, b); n != size || err != nil {
			t.Fatalf("a record of %d bytes, %v", n, err)
		}
		return b
	}
}

// nextEvent reads the next asynchronous event of a program.
func (e *end) nextEvent() uapi.AsyncEventDesc {
	e.Helper()
	return decode[uapi.AsyncEventDesc](e.program, nextRecord(e, e.async, asyncRecord))
}

func (e *end) wantEvent(typ uapi.EventType, element uint64) {
	e.Helper()
	if got, want := e.nextEvent(), (uapi.AsyncEventDesc{Element: element, EventType: uint32(typ)}); got != want {
		e.Errorf("event %+v, want %+v", got, want)
	}
}

// noEvents fails if the program has asynchronous events that it has not read.
func (e *end) noEvents() {
	e.Helper()
	e.ctx.events.quiet()
	if n, err := unix.IoctlGetInt(e.async, unix.TIOCINQ); n != 0 || err != nil {
		e.Errorf("%d bytes of events are left, %v", n, err)
	}
}

func TestAConnectionThatIsUsedBeforeRTSIsReported(t *testing.T) {
	d := devices(t)
	a, b := newEnd(t, serverOn(t, d[0]), uapi.QPTypeRC), newEnd(t, serverOn(t, d[1]), uapi.QPTypeRC)
	b.ready(a)
	a.connect(b)
	b.recv.post(recvWQE(1, b.addr, 64, b.mr.LKey))
	a.send.post(sendWQE(2, a.addr, 8, a.mr.LKey))
	a.ring()
	a.poll(a.comp)
	b.wantEvent(uapi.EventCommEst, 0xd0)
	b.noEvents()
	a.noEvents()
}

func TestADrainedSendQueueIsReported(t *testing.T) {
	a, b := newPair(t)
	sqd := uapi.ModifyQP{QPState: uint8(uapi.QPSSQD), EnSQDAsyncNotify: 1}
	if err := a.modify(sqd, uapi.QPMaskState|uapi.QPMaskEnSQDAsyncNotify); err != nil {
		t.Fatal(err)
	}
	a.wantEvent(uapi.EventSQDrained, 0xd0)
	r := a.call(uapi.MethodQPDestroy, attr{id: uapi.AttrDestroyQPHandle, in: handle(a.qp)},
		out(uapi.AttrDestroyQPResp, 4))
	if n := u32(r[uapi.AttrDestroyQPResp]); n != 1 {
		t.Errorf("%d events are reported to the program, which has read one", n)
	}
	a.noEvents()
	b.noEvents()
}

func TestACompletionQueueThatOverflowsIsReportedWithItsQueuePairs(t *testing.T) {
	a, _ := newPair(t)
	// A second queue pair fills the completion queue, which the program does not poll.
	a.newQP(uapi.QPTypeRC)
	if err := a.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSErr)}, uapi.QPMaskState); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(a.comp.mask + 1) {
		a.send.post(sendWQE(i, a.addr, 8, a.mr.LKey))
		a.ring()
		a.until("the request is taken", func() bool { return a.send.word(256).Load() == a.send.index })
	}
	// The queue pair may be in another shard than the one that finds the queue full, so the order
	// varies.
	got := map[uapi.AsyncEventDesc]bool{a.nextEvent(): true, a.nextEvent(): true}
	for _, want := range []uapi.AsyncEventDesc{
		{Element: 0xc0, EventType: uint32(uapi.EventCQErr)}, {Element: 0xd0, EventType: uint32(uapi.EventQPFatal)},
	} {
		if !got[want] {
			t.Errorf("no event %+v, but %v", want, got)
		}
	}
	a.noEvents()
}

func TestEventsOfASharedReceiveQueueAreReported(t *testing.T) {
	d := devices(t)
	a, b := newEnd(t, serverOn(t, d[0]), uapi.QPTypeRC), newEnd(t, serverOn(t, d[1]), uapi.QPTypeRC)
	m := uapi.MethodSRQCreate
	r := b.call(m, fresh(uapi.AttrCreateSRQHandle), attr{id: uapi.AttrCreateSRQPDHandle, in: handle(b.pd)},
		attr{id: uapi.AttrCreateSRQUserHandle, in: uint64(0xe0)}, attr{id: uapi.AttrCreateSRQMaxWR, in: uint32(8)},
		attr{id: uapi.AttrCreateSRQMaxSGE, in: uint32(1)}, attr{id: uapi.AttrCreateSRQLimit, in: uint32(0)},
		attr{id: uapi.AttrCreateSRQType, in: uint64(uapi.SRQTypeBasic)}, out(uapi.AttrCreateSRQRespMaxWR, 4),
		out(uapi.AttrCreateSRQRespMaxSGE, 4), out(uapi.AttrCreateSRQRespSRQNum, 4), out(m.UHWOut(), 24))
	b.srq = u32(r[uapi.AttrCreateSRQHandle])
	receives := b.mapQueue(decode[uapi.RXECreateSRQResp](b.program, r[m.UHWOut()]).MI)
	first := b.qp
	b.newQP(uapi.QPTypeRC)
	a.connect(b)
	b.connect(a)
	for i := range uint64(2) {
		receives.post(recvWQE(i, b.addr, 64, b.mr.LKey))
	}
	limit := uapi.ModifySRQ{SRQHandle: b.srq, AttrMask: 2, SRQLimit: 2}
	if _, _, err := b.tryCommand(uapi.CmdModifySRQ, limit, 0); err != nil {
		t.Fatal(err)
	}
	a.send.post(sendWQE(1, a.addr, 8, a.mr.LKey))
	a.ring()
	a.poll(a.comp)
	b.wantEvent(uapi.EventSRQLimitReached, 0xe0)
	if err := b.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSErr)}, uapi.QPMaskState); err != nil {
		t.Fatal(err)
	}
	b.wantEvent(uapi.EventQPLastWQEReached, 0xd0+uint64(first))
	b.noEvents()
}

// carrier is a link whose state the test sets.
type carrier struct {
	packet.Link
	changed func(up bool)
}

func (l *carrier) WatchState(changed func(up bool)) {
	l.changed = changed
	changed(true)
}

// portDevice opens a device and returns a function that sets the state of its port.
func portDevice(t *testing.T) (d *verbs.Device, up func(bool)) {
	t.Helper()
	l, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	link := &carrier{Link: l}
	if d, err = verbs.Open(verbs.Config{Links: []packet.Link{link}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, func(up bool) { link.changed(up) }
}

func TestAllProgramsHearOfThePort(t *testing.T) {
	d, up := portDevice(t)
	s := serverOn(t, d)
	a, b := newEnd(t, s, uapi.QPTypeRC), newEnd(t, s, uapi.QPTypeRC)
	up(false)
	a.wantEvent(uapi.EventPortErr, 1)
	b.wantEvent(uapi.EventPortErr, 1)
	up(true)
	a.wantEvent(uapi.EventPortActive, 1)
	b.wantEvent(uapi.EventPortActive, 1)
	// Another reader of the device gets them too.
	for _, want := range []verbs.EventType{verbs.EventPortErr, verbs.EventPortActive} {
		if e, err := d.Event(t.Context()); err != nil || e.Type != want {
			t.Errorf("Event = %v, %v, want %v", e, err, want)
		}
	}
}

func TestAProgramThatIsStuckInACallDelaysNoEvent(t *testing.T) {
	d, up := portDevice(t)
	s := serverOn(t, d)
	a, b := newEnd(t, s, uapi.QPTypeRC), newEnd(t, s, uapi.QPTypeRC)
	a.ctx.mu.Lock() // as a call does
	defer a.ctx.mu.Unlock()
	up(false)
	a.wantEvent(uapi.EventPortErr, 1)
	b.wantEvent(uapi.EventPortErr, 1)
}

func TestNoEventOfAQueueComesAfterItsEnd(t *testing.T) {
	a, _ := newPair(t)
	q := a.ctx.qps.all[a.qp].qp
	a.ctx.server.dispatch(verbs.AsyncEvent{Type: verbs.EventQPFatal, QP: q})
	a.wantEvent(uapi.EventQPFatal, 0xd0)
	a.ctx.server.dispatch(verbs.AsyncEvent{Type: verbs.EventQPFatal, QP: q})
	r := a.call(uapi.MethodQPDestroy, attr{id: uapi.AttrDestroyQPHandle, in: handle(a.qp)},
		out(uapi.AttrDestroyQPResp, 4))
	if n := u32(r[uapi.AttrDestroyQPResp]); n != 1 {
		t.Errorf("%d events are reported to the program, which has read one", n)
	}
	a.ctx.server.dispatch(verbs.AsyncEvent{Type: verbs.EventQPFatal, QP: q})
	a.noEvents()
}
