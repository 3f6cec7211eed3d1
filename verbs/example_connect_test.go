package verbs_test

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// A server listens at a port and a client dials it: the connection manager connects their queue
// pairs, as rdma_cm does between Linux hosts and RNICs. Data that a program needs in advance,
// such as the key of a region, is sent as private data.
func ExampleDevice_Dial() {
	network := pipe.NewNet()
	open := func(addr string) (*verbs.Device, *verbs.PD, *verbs.QP) {
		dev := must(verbs.Open(verbs.Config{Links: []packet.Link{must(network.Open(netip.MustParseAddr(addr), 9000))}}))
		pd := dev.AllocPD()
		return dev, pd, must(pd.CreateQP(verbs.QPInitAttr{SendCQ: must(dev.CreateCQ(16))}))
	}
	server, _, serverQP := open("192.0.2.2")
	client, _, clientQP := open("192.0.2.1")
	defer server.Close()
	defer client.Close()
	ctx := context.Background()

	l := must(server.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(netip.Addr{}, 7174), 0))
	served := make(chan *verbs.Conn)
	go func() {
		request := must(l.Next(ctx))
		fmt.Printf("the server hears %q\n", request.PrivateData()[:5])
		p := verbs.DefaultConnParam()
		p.PrivateData = []byte("welcome")
		served <- must(request.Accept(ctx, serverQP, p))
	}()

	p := verbs.DefaultConnParam()
	p.PrivateData = []byte("hello")
	conn := must(client.Dial(ctx, netip.MustParseAddrPort("192.0.2.2:7174"), clientQP, p))
	atServer := <-served
	fmt.Printf("the client hears %q\n", conn.PrivateData()[:7])
	fmt.Println("queue pairs in", clientQP.State(), "and", serverQP.State())

	check(conn.Disconnect(ctx))
	<-atServer.Done()
	fmt.Println("the server's end:", atServer.Err())
	// Output:
	// the server hears "hello"
	// the client hears "welcome"
	// queue pairs in RTS and RTS
	// the server's end: peer disconnected
}
