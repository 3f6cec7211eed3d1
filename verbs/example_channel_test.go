package verbs_test

import (
	"context"
	"fmt"

	"github.com/gorxe/gorxe/verbs"
)

// One goroutine serves many completion queues: it requests an event from each, waits on their
// channel, requests the next event, and polls until the queue is empty.
func ExampleCompChannel() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	channel := b.dev.CreateCompChannel()
	cq := must(b.dev.CreateCQ(16, verbs.OnChannel(channel)))
	check(cq.ReqNotify(true)) // solicited receives only

	to := must(b.dev.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: b.cq, RecvCQ: cq}))
	from := must(a.dev.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: a.cq}))
	ai, bi := must(from.Local(0, 1)), must(to.Local(0, 2))
	check(from.Connect(ai, bi, verbs.DefaultConnAttr()))
	check(to.Connect(bi, ai, verbs.DefaultConnAttr()))
	check(to.PostRecv(&verbs.RecvWR{ID: 1}, &verbs.RecvWR{ID: 2}))
	check(from.PostSend(
		&verbs.SendWR{Opcode: verbs.WRSend},
		&verbs.SendWR{Opcode: verbs.WRSend, Flags: verbs.Solicited},
	))

	ready := must(channel.Wait(context.Background()))
	check(ready.ReqNotify(true))
	var wc [4]verbs.WC
	for n := ready.Poll(wc[:]); n > 0; n = ready.Poll(wc[:]) {
		for _, c := range wc[:n] {
			fmt.Println("receive", c.WRID, "solicited", c.Solicited)
		}
	}
	// Output:
	// receive 1 solicited false
	// receive 2 solicited true
}

// A completion queue that is too small fails the queue pairs that use it, and events report why.
func ExampleDevice_Event() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	cq := must(b.dev.CreateCQ(1))
	qp := must(b.dev.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: cq}))
	check(qp.Modify(&verbs.QPAttr{State: verbs.INIT, Port: 1},
		verbs.AttrState|verbs.AttrPKeyIndex|verbs.AttrPort|verbs.AttrAccess))
	check(qp.PostRecv(&verbs.RecvWR{ID: 1}, &verbs.RecvWR{ID: 2}))
	// Flushes two requests, but there is space for one completion.
	check(qp.Modify(&verbs.QPAttr{State: verbs.ERR}, verbs.AttrState))

	event := must(b.dev.Event(context.Background()))
	fmt.Println(event, event.CQ == cq)
	// Output:
	// CQ error true
}
