package verbs_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// A program that has a completion owns the memory of that receive, and may use it while the next
// message arrives in the adjacent byte. The race detector reports violations.
func TestAReceiveTouchesNoByteBesideIt(t *testing.T) {
	const messages = 64
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), messages+1)
	for i := range messages {
		wr := verbs.RecvWR{SGList: []verbs.SGE{b.MR.SGE(i+1, 1)}}
		if err := b.QP.PostRecv(&wr); err != nil {
			t.Fatal(err)
		}
		a.Buf[i] = byte(i + 1)
	}

	var owner sync.WaitGroup
	var stop atomic.Bool
	started := make(chan struct{})
	owner.Go(func() {
		close(started)
		for !stop.Load() {
			if b.Buf[0] != 0 {
				t.Error("the byte before the receives has changed")
				return
			}
		}
	})
	<-started
	var wc [messages]verbs.WC
	for i := range messages {
		wr := verbs.SendWR{Opcode: verbs.WRSend, Flags: verbs.Signaled, SGList: []verbs.SGE{a.MR.SGE(i, 1)}}
		if err := a.QP.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
		a.Wait(1, wc[:])
	}
	b.Wait(messages, wc[:])
	stop.Store(true)
	owner.Wait()
	for i, v := range b.Buf {
		if v != byte(i) {
			t.Errorf("byte %d is %d, want %d", i, v, i)
		}
	}
}
