package gorxe_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe"
	"github.com/gorxe/gorxe/packet"
)

// What is sent to a multicast group reaches every queue pair that is attached to it.
func Example_multicast() {
	const qkey = 0x11111111
	network := packet.NewPipeNet()
	sender, pd := newDatagramNode(must(network.Open(netip.MustParseAddr("192.0.2.1"), 9000)), qkey)
	defer sender.dev.Close()
	group := must(gorxe.MulticastGID(netip.MustParseAddr("239.1.2.3")))

	var members []*node
	for _, addr := range []string{"192.0.2.2", "192.0.2.3"} {
		m, _ := newDatagramNode(must(network.Open(netip.MustParseAddr(addr), 9000)), qkey)
		defer m.dev.Close()
		check(m.qp.AttachMulticast(group))
		check(m.qp.PostRecv(&gorxe.RecvWR{SGList: []gorxe.SGE{m.mr.SGE(0, 200)}}))
		members = append(members, m)
	}

	copy(sender.buf, "good morning")
	check(sender.qp.PostSend(&gorxe.SendWR{
		Opcode: gorxe.WRSend, SGList: []gorxe.SGE{sender.mr.SGE(0, 12)},
		AH:        must(pd.CreateAH(gorxe.AddressVector{DGID: group})),
		RemoteQPN: gorxe.MulticastQPN, RemoteQKey: qkey,
	}))
	for _, m := range members {
		var wc [1]gorxe.WC
		must(m.cq.Wait(context.Background(), wc[:]))
		fmt.Printf("%q\n", m.buf[gorxe.GRHLen:wc[0].ByteLen])
	}
	// Output:
	// "good morning"
	// "good morning"
}
