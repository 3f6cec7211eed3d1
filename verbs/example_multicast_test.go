package verbs_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// A datagram to a multicast group reaches every queue pair that is attached to it.
func Example_multicast() {
	const qkey = 0x11111111
	network := pipe.NewNet()
	sender, pd := newDatagramNode(must(network.Open(netip.MustParseAddr("192.0.2.1"), 9000)), qkey)
	defer sender.dev.Close()
	group := must(verbs.MulticastGID(netip.MustParseAddr("239.1.2.3")))

	var members []*node
	for _, addr := range []string{"192.0.2.2", "192.0.2.3"} {
		m, _ := newDatagramNode(must(network.Open(netip.MustParseAddr(addr), 9000)), qkey)
		defer m.dev.Close()
		check(m.qp.AttachMulticast(group))
		check(m.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{m.mr.SGE(0, 200)}}))
		members = append(members, m)
	}

	copy(sender.buf, "good morning")
	check(sender.qp.PostSend(&verbs.SendWR{
		Opcode: verbs.WRSend, SGList: []verbs.SGE{sender.mr.SGE(0, 12)},
		AH:        must(pd.CreateAH(verbs.AddressVector{DGID: group})),
		RemoteQPN: verbs.MulticastQPN, RemoteQKey: qkey,
	}))
	for _, m := range members {
		var wc [1]verbs.WC
		must(m.cq.Wait(context.Background(), wc[:]))
		fmt.Printf("%q\n", m.buf[verbs.GRHLen:wc[0].ByteLen])
	}
	// Output:
	// "good morning"
	// "good morning"
}
