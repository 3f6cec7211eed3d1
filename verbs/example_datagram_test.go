package verbs_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// newDatagramNode returns a node whose queue pair sends and receives datagrams.
func newDatagramNode(link packet.Link, qkey uint32) (*node, *verbs.PD) {
	n := &node{buf: make([]byte, 4096)}
	n.dev = must(verbs.Open(verbs.Config{Links: []packet.Link{link}}))
	pd := n.dev.AllocPD()
	n.mr = must(pd.RegMR(n.buf, verbs.LocalWrite))
	n.cq = must(n.dev.CreateCQ(64))
	n.qp = must(pd.CreateQP(verbs.QPInitAttr{Type: verbs.UD, SendCQ: n.cq}))
	check(n.qp.StartDatagrams(qkey, verbs.RandomPSN()))
	return n, pd
}

// A datagram goes to the receiver that its request names; the receiver can reply to the sender of
// what it receives.
func Example_datagram() {
	const qkey = 0x11111111
	network := pipe.NewNet()
	client, clientPD := newDatagramNode(must(network.Open(netip.MustParseAddr("192.0.2.1"), 9000)), qkey)
	server, serverPD := newDatagramNode(must(network.Open(netip.MustParseAddr("192.0.2.2"), 9000)), qkey)
	defer client.dev.Close()
	defer server.dev.Close()
	ctx := context.Background()
	var wc [1]verbs.WC

	// A receive needs space for the network header before the message.
	check(server.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{server.mr.SGE(0, verbs.GRHLen+100)}}))
	check(client.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{client.mr.SGE(1000, verbs.GRHLen+100)}}))

	copy(client.buf, "who is there?")
	to := must(server.dev.GID(0)).GID
	check(client.qp.PostSend(&verbs.SendWR{
		Opcode: verbs.WRSend, SGList: []verbs.SGE{client.mr.SGE(0, 13)},
		AH:        must(clientPD.CreateAH(verbs.AddressVector{DGID: to})),
		RemoteQPN: server.qp.QPN(), RemoteQKey: qkey,
	}))

	must(server.cq.Wait(ctx, wc[:]))
	fmt.Printf("the server got %q\n", server.buf[verbs.GRHLen:wc[0].ByteLen])
	copy(server.buf[2000:], "the server")
	check(server.qp.PostSend(&verbs.SendWR{
		Opcode: verbs.WRSend, SGList: []verbs.SGE{server.mr.SGE(2000, 10)},
		AH:        must(serverPD.CreateAHFromWC(&wc[0], server.buf)),
		RemoteQPN: wc[0].SrcQP, RemoteQKey: qkey,
	}))

	must(client.cq.Wait(ctx, wc[:]))
	fmt.Printf("the client got %q\n", client.buf[1000+verbs.GRHLen:][:wc[0].ByteLen-verbs.GRHLen])
	// Output:
	// the server got "who is there?"
	// the client got "the server"
}
