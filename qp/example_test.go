package qp_test

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/qp"
)

func ExampleQP_Modify() {
	q := &qp.QP{Num: 0x4711, Type: qp.RC}
	err := q.Modify(&qp.Attr{State: qp.INIT, Port: 1}, qp.AttrState|qp.AttrPort|qp.AttrPKeyIndex|qp.AttrAccess)
	fmt.Println(q.State(), err)

	peer := qp.AddressVector{DGID: qp.GIDFromAddr(netip.MustParseAddr("198.18.0.3")), HopLimit: 64}
	err = q.Modify(&qp.Attr{State: qp.RTR, AV: peer, PathMTU: 1024, DestQPN: 0x11}, qp.AttrState|
		qp.AttrAV|qp.AttrPathMTU|qp.AttrDestQPN|qp.AttrRQPSN|qp.AttrMaxDestRdAtomic)
	fmt.Println(q.State(), err)
	// Output:
	// INIT <nil>
	// INIT qp: modify QP 0x004711 (RC) from INIT to RTR: IBV_QP_MIN_RNR_TIMER is missing; the transition requires IBV_QP_AV|IBV_QP_PATH_MTU|IBV_QP_RQ_PSN|IBV_QP_MIN_RNR_TIMER|IBV_QP_MAX_DEST_RD_ATOMIC|IBV_QP_DEST_QPN
}

func ExampleRequirements() {
	required, optional, ok := qp.Requirements(qp.RC, qp.RTR, qp.RTS)
	fmt.Println(ok)
	fmt.Println(required)
	fmt.Println(optional)
	// Output:
	// true
	// IBV_QP_TIMEOUT|IBV_QP_RETRY_CNT|IBV_QP_RNR_RETRY|IBV_QP_MAX_QP_RD_ATOMIC|IBV_QP_SQ_PSN
	// IBV_QP_CUR_STATE|IBV_QP_ACCESS_FLAGS|IBV_QP_ALT_PATH|IBV_QP_MIN_RNR_TIMER|IBV_QP_PATH_MIG_STATE
}

func ExampleSendQueue() {
	q := qp.NewSendQueue(2, 1, false)
	for id := uint64(1); ; id++ {
		if err := q.Push(&qp.SendWR{ID: id, Opcode: qp.WRWrite}); err != nil {
			fmt.Println(err)
			break
		}
	}
	for i := q.Head(); i != q.Tail(); i++ {
		w := q.At(i)
		fmt.Println(w.ID, w.Opcode)
	}
	q.Pop()
	fmt.Println(q.Len())
	// Output:
	// qp: send queue is full: all 2 requests are outstanding; poll completions before posting more
	// 1 RDMA_WRITE
	// 2 RDMA_WRITE
	// 1
}

func ExampleGID() {
	g := qp.GIDFromAddr(netip.MustParseAddr("198.18.0.2"))
	fmt.Println(g)
	fmt.Println(g.Hex())
	fmt.Println(g.Addr())
	// Output:
	// ::ffff:198.18.0.2
	// 00000000000000000000ffffc6120002
	// 198.18.0.2
}

func ExampleWCStatus() {
	s := qp.WCRetryExcErr
	fmt.Printf("%d %s: %v\n", s, s.Name(), s)
	// Output:
	// 12 RETRY_EXC_ERR: transport retry counter exceeded
}
