package uverbs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

func TestADoorbellIsForTheQueuePairThatItNames(t *testing.T) {
	var qps [4]verbs.QP
	b := &bells{}
	for h := range qps {
		b.add(uint32(h+1), &qps[h])
	}
	b.remove(4)
	for name, c := range map[string]struct {
		written []byte
		known   bool
		want    []*verbs.QP
	}{
		"nothing": {nil, true, nil},
		"each once": {bytes.Join([][]byte{doorbell(3), doorbell(1), doorbell(3)}, nil), true,
			[]*verbs.QP{&qps[2], &qps[0]}},
		"one that was destroyed": {append(doorbell(4), doorbell(2)...), true, []*verbs.QP{&qps[1]}},
		"another command":        {append(doorbell(1), make([]byte, doorbellSize)...), false, nil},
		"a part of one":          {append(doorbell(1), 28), false, nil},
	} {
		b.rung = nil
		if known := b.collect(c.written); known != c.known || known && !slices.Equal(b.rung, c.want) {
			t.Errorf("%s: %v, %d queue pairs", name, known, len(b.rung))
		}
	}
}

// flushing returns a program with n queue pairs in ERR: a request is flushed when the doorbell
// has been answered.
func flushing(t testing.TB, n int) (e *end, handles []uint32, sends []*queue) {
	t.Helper()
	e = newEnd(t, serverOn(t, devices(t)[0]), uapi.QPTypeRC)
	for len(handles) < n {
		if err := e.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSErr)}, uapi.QPMaskState); err != nil {
			t.Fatal(err)
		}
		handles, sends = append(handles, e.qp), append(sends, e.send)
		if len(handles) < n {
			e.newQP(uapi.QPTypeRC)
		}
	}
	return e, handles, sends
}

// post posts a request and writes doorbell. It returns when the request was fetched.
func (e *end) post(send *queue, doorbell []byte) error {
	send.post(sendWQE(1, e.addr, 8, e.mr.LKey))
	if _, err := unix.Write(e.cmd, doorbell); err != nil {
		return err
	}
	for late := time.Now().Add(time.Minute); send.word(256).Load() != send.index; runtime.Gosched() {
		if time.Now().After(late) {
			return errors.New("the doorbell was not heard within a minute")
		}
	}
	return nil
}

// emptied polls all completions, until stop.
func (e *end) emptied() (stop func()) {
	end := make(chan struct{})
	var over sync.WaitGroup
	over.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
				e.comp.word(256).Store(e.comp.word(128).Load())
				runtime.Gosched()
			}
		}
	})
	return func() { close(end); over.Wait() }
}

func TestEachDoorbellOfSeveralThreadsIsHeard(t *testing.T) {
	const qps, each = 16, 300
	e, handles, sends := flushing(t, qps)
	defer e.emptied()()
	var all sync.WaitGroup
	for i, send := range sends {
		all.Go(func() {
			for range each {
				if err := e.post(send, doorbell(handles[i])); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestWhatWasPostedLeavesBeforeItsQueuePairIsDestroyed(t *testing.T) {
	a, b := newPair(t)
	b.recv.post(recvWQE(1, b.addr, 64, b.mr.LKey))
	a.send.post(sendWQE(2, a.addr, 8, a.mr.LKey)) // its doorbell has not been answered
	a.call(uapi.MethodQPDestroy, attr{id: uapi.AttrDestroyQPHandle, in: handle(a.qp)}, out(uapi.AttrDestroyQPResp, 4))
	if wc := b.poll(b.comp); wc.WRID != 1 || wc.Status != uint32(uapi.WCSuccess) {
		t.Errorf("%+v", wc)
	}
}

func TestDatagramsLeaveBeforeTheirAddressHandleIsDestroyed(t *testing.T) {
	d := devices(t)
	a, b := newEnd(t, serverOn(t, d[0]), uapi.QPTypeUD), newEnd(t, serverOn(t, d[1]), uapi.QPTypeUD)
	for _, e := range []*end{a, b} {
		err := errors.Join(
			e.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSInit), PortNum: 1, QKey: 5},
				uapi.QPMaskState|uapi.QPMaskPKeyIndex|uapi.QPMaskPort|uapi.QPMaskQKey),
			e.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSRTR)}, uapi.QPMaskState),
			e.modify(uapi.ModifyQP{QPState: uint8(uapi.QPSRTS)}, uapi.QPMaskState|uapi.QPMaskSQPSN))
		if err != nil {
			t.Fatal(err)
		}
	}
	b.recv.post(recvWQE(1, b.addr, 64, b.mr.LKey))
	b.ring() // receives need none, and this one finds nothing to send
	ah := run[uapi.CreateAHResp](a.program, uapi.CmdCreateAH, uapi.CreateAH{PDHandle: a.pd, Attr: uapi.AHAttr{
		GRH: uapi.GlobalRoute{DGID: b.gid(), HopLimit: 64}, IsGlobal: 1, PortNum: 1,
	}}, out(uapi.MethodInvokeWrite.UHWOut(), 4)).AHHandle
	wqe := sendWQE(2, a.addr, 8, a.mr.LKey)
	binary.NativeEndian.PutUint32(wqe[24:], b.qpn)
	binary.NativeEndian.PutUint32(wqe[28:], 5) // Q_Key
	binary.NativeEndian.PutUint32(wqe[36:], ah)
	a.send.post(wqe) // its doorbell has not been answered
	if _, _, err := a.tryCommand(uapi.CmdDestroyAH, uapi.DestroyAH{AHHandle: ah}, 0); err != nil {
		t.Fatal(err)
	}
	a.ring()
	if wc := b.poll(b.comp); wc.WRID != 1 || wc.Status != uint32(uapi.WCSuccess) {
		t.Errorf("%+v", wc)
	}
}

// As in the kernel, except that one queue pair in RTS makes posts to all others of the context
// succeed.
func TestADoorbellFailsWithEINVALWhileNoQueuePairIsInRTSOrLater(t *testing.T) {
	d := devices(t)
	a, b := newEnd(t, serverOn(t, d[0]), uapi.QPTypeRC), newEnd(t, serverOn(t, d[1]), uapi.QPTypeRC)
	first := a.qp
	rings := func(when string, want error) {
		t.Helper()
		if _, err := unix.Write(a.cmd, doorbell(first)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", when, err, want)
		}
	}
	to := func(s uapi.QPState) {
		t.Helper()
		if err := a.modify(uapi.ModifyQP{QPState: uint8(s)}, uapi.QPMaskState); err != nil {
			t.Fatal(err)
		}
	}
	rings("RESET", unix.EINVAL)
	a.ready(b)
	rings("RTR", unix.EINVAL)
	to(uapi.QPSReset)
	b.ready(a)
	a.connect(b)
	rings("RTS", nil)
	to(uapi.QPSErr)
	rings("ERR", nil)
	to(uapi.QPSReset)
	rings("RESET again", unix.EINVAL)
	a.newQP(uapi.QPTypeRC)
	rings("two in RESET", unix.EINVAL)
	to(uapi.QPSErr)
	rings("another one in ERR", nil)
	a.call(uapi.MethodQPDestroy, attr{id: uapi.AttrDestroyQPHandle, in: handle(a.qp)}, out(uapi.AttrDestroyQPResp, 4))
	rings("the other one is destroyed", unix.EINVAL)
}

func TestADoorbellThatNamesNothingIsForAllQueuePairs(t *testing.T) {
	e, _, sends := flushing(t, fewQPs+2)
	defer e.emptied()()
	for _, send := range sends {
		if err := e.post(send, make([]byte, doorbellSize)); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkDoorbell measures the time from a post to its completion with an error, in a context
// with other queue pairs. "all" are doorbells that name no queue pair.
func BenchmarkDoorbell(b *testing.B) {
	for _, n := range []int{1, 1000} {
		for _, kind := range []string{"named", "all"} {
			b.Run(fmt.Sprintf("qps=%d/%s", n, kind), func(b *testing.B) {
				e, handles, sends := flushing(b, n)
				bell := doorbell(handles[0])
				if kind == "all" {
					bell = make([]byte, doorbellSize)
				}
				for b.Loop() {
					if err := e.post(sends[0], bell); err != nil {
						b.Fatal(err)
					}
					e.comp.word(256).Store(e.comp.word(128).Load())
				}
			})
		}
	}
}
