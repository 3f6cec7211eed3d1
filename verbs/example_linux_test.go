package verbs_test

import (
	"context"
	"fmt"

	"github.com/gorxe/gorxe/verbs"
)

// Two devices on loopback addresses, and an RDMA WRITE with immediate data between them over UDP
// port 4791. On two hosts it is the same, with one device opened on each and their ConnInfo
// exchanged by any means.
func Example() {
	type end struct {
		dev  *verbs.Device
		cq   *verbs.CQ
		qp   *verbs.QP
		mr   *verbs.MR
		buf  []byte
		info verbs.ConnInfo
	}
	open := func(addr string) (e end) {
		e.buf = make([]byte, 4096)
		e.dev = must(verbs.Open(verbs.Config{Device: addr}))
		pd := e.dev.AllocPD()
		e.mr = must(pd.RegMR(e.buf, verbs.LocalWrite|verbs.RemoteWrite))
		e.cq = must(e.dev.CreateCQ(16))
		e.qp = must(pd.CreateQP(verbs.QPInitAttr{SendCQ: e.cq}))
		e.info = must(e.qp.Local(0, verbs.RandomPSN()))
		return e
	}
	a, b := open("127.55.5.1"), open("127.55.5.2")
	defer a.dev.Close()
	defer b.dev.Close()
	check(a.qp.Connect(a.info, b.info, verbs.DefaultConnAttr()))
	check(b.qp.Connect(b.info, a.info, verbs.DefaultConnAttr()))

	check(b.qp.PostRecv(&verbs.RecvWR{})) // for the immediate data, which notifies b of the WRITE
	n := copy(a.buf, "written from afar")
	check(a.qp.PostSend(&verbs.SendWR{
		Opcode: verbs.WRWriteImm, Imm: 42, SGList: []verbs.SGE{a.mr.SGE(0, n)},
		RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	}))
	wc := make([]verbs.WC, 1)
	must(b.cq.Wait(context.Background(), wc))
	fmt.Printf("%s: %d; b has %q\n", wc[0].Status, wc[0].Imm, b.buf[:wc[0].ByteLen])
	// Output: success: 42; b has "written from afar"
}
