package verbs_test

import (
	"context"
	"fmt"

	"github.com/gorxe/gorxe/verbs"
)

// Queue pairs that share an SRQ need no receives of their own, and an event reports when few
// receives are left.
func ExamplePD_CreateSRQ() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	pd := b.dev.AllocPD()
	mr := must(pd.RegMR(make([]byte, 4096), verbs.LocalWrite))
	srq := must(pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 100, MaxSGE: 1, Limit: 4}))
	for i := range 4 {
		check(srq.PostRecv(&verbs.RecvWR{ID: uint64(i), SGList: []verbs.SGE{mr.SGE(i*1024, 1024)}}))
	}
	for i := range 2 {
		// A connection; there may be thousands.
		from := must(a.dev.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: a.cq}))
		to := must(pd.CreateQP(verbs.QPInitAttr{SendCQ: b.cq, SRQ: srq}))
		ai, bi := must(from.Local(0, verbs.RandomPSN())), must(to.Local(0, verbs.RandomPSN()))
		check(from.Connect(ai, bi, verbs.DefaultConnAttr()))
		check(to.Connect(bi, ai, verbs.DefaultConnAttr()))
		check(from.PostSend(&verbs.SendWR{Opcode: verbs.WRSend, Flags: verbs.Signaled}))
		b.completion(fmt.Sprint("connection ", i))
	}
	event := must(b.dev.Event(context.Background()))
	fmt.Println(event, event.SRQ == srq)
	// Output:
	// connection 0: RECV, success, 0 bytes
	// connection 1: RECV, success, 0 bytes
	// SRQ limit reached true
}
