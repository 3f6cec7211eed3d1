package verbs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"net/netip"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// node is one end of the examples: a device with one queue pair and one buffer.
type node struct {
	dev  *verbs.Device
	pd   *verbs.PD
	cq   *verbs.CQ
	qp   *verbs.QP
	mr   *verbs.MR
	buf  []byte
	info verbs.ConnInfo
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func newNode(link packet.Link, psn verbs.PSN) *node {
	n := &node{buf: make([]byte, 4096)}
	n.dev = must(verbs.Open(verbs.Config{Links: []packet.Link{link}}))
	n.pd = n.dev.AllocPD()
	n.mr = must(n.pd.RegMR(n.buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead|verbs.RemoteAtomic))
	n.cq = must(n.dev.CreateCQ(64))
	n.qp = must(n.pd.CreateQP(verbs.QPInitAttr{SendCQ: n.cq}))
	n.info = must(n.qp.Local(0, psn))
	return n
}

// twoNodes returns two nodes connected over a network in memory.
func twoNodes() (a, b *node) {
	network := pipe.NewNet()
	a = newNode(must(network.Open(netip.MustParseAddr("192.0.2.1"), 9000)), 1000)
	b = newNode(must(network.Open(netip.MustParseAddr("192.0.2.2"), 9000)), 2000)
	attr := verbs.DefaultConnAttr()
	attr.Access |= verbs.RemoteAtomic
	check(a.qp.Connect(a.info, b.info, attr))
	check(b.qp.Connect(b.info, a.info, attr))
	return a, b
}

// completion waits for one completion and prints it.
func (n *node) completion(name string) {
	var wc [1]verbs.WC
	must(n.cq.Wait(context.Background(), wc[:]))
	fmt.Printf("%s: %v, %v, %d bytes\n", name, wc[0].Opcode, wc[0].Status, wc[0].ByteLen)
}

// An RDMA WRITE stores bytes in the peer's memory, without involving the peer's program.
func Example_write() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	copy(a.buf, "hello, memory")
	check(a.qp.PostSend(&verbs.SendWR{
		ID: 1, Opcode: verbs.WRWrite, Flags: verbs.Signaled,
		SGList:     []verbs.SGE{a.mr.SGE(0, 13)},
		RemoteAddr: b.mr.Addr() + 100, RKey: b.mr.RKey(),
	}))
	a.completion("a")
	fmt.Printf("b has %q\n", b.buf[100:113])
	// Output:
	// a: RDMA_WRITE, success, 13 bytes
	// b has "hello, memory"
}

// An RDMA READ fetches bytes from the peer's memory.
func Example_read() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	copy(b.buf[7:], "far away")
	check(a.qp.PostSend(&verbs.SendWR{
		ID: 1, Opcode: verbs.WRRead, Flags: verbs.Signaled,
		SGList:     []verbs.SGE{a.mr.SGE(0, 8)},
		RemoteAddr: b.mr.Addr() + 7, RKey: b.mr.RKey(),
	}))
	a.completion("a")
	fmt.Printf("a has %q\n", a.buf[:8])
	// Output:
	// a: RDMA_READ, success, 8 bytes
	// a has "far away"
}

// A SEND goes into the buffer of the peer's next receive, and completes at both ends.
func Example_send() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	check(b.qp.PostRecv(&verbs.RecvWR{ID: 2, SGList: []verbs.SGE{b.mr.SGE(0, 100)}}))
	copy(a.buf, "a message")
	check(a.qp.PostSend(&verbs.SendWR{
		ID: 1, Opcode: verbs.WRSendImm, Flags: verbs.Signaled, Imm: 42,
		SGList: []verbs.SGE{a.mr.SGE(0, 9)},
	}))
	b.completion("b")
	a.completion("a")
	fmt.Printf("b has %q\n", b.buf[:9])
	// Output:
	// b: RECV, success, 9 bytes
	// a: SEND, success, 9 bytes
	// b has "a message"
}

// A fetch and add changes eight bytes of the peer's memory and returns their previous value. It
// is executed exactly once, even if the network loses packets.
func Example_fetchAdd() {
	a, b := twoNodes()
	defer a.dev.Close()
	defer b.dev.Close()

	binary.NativeEndian.PutUint64(b.buf, 40)
	check(a.qp.PostSend(&verbs.SendWR{
		ID: 1, Opcode: verbs.WRFetchAdd, Flags: verbs.Signaled,
		SGList:     []verbs.SGE{a.mr.SGE(0, 8)},
		RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(), CompareAdd: 2,
	}))
	a.completion("a")
	fmt.Println("was", binary.NativeEndian.Uint64(a.buf), "is", b.mr.LoadUint64(0))
	// Output:
	// a: FETCH_ADD, success, 8 bytes
	// was 40 is 42
}
