package model

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/internal/sim/world"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Network is the nodes of a scenario with their connections and groups, in the world that plays
// them.
type Network struct {
	*world.World
	nodes  []*node
	conns  []*conn
	groups []*group
	shares map[[2]int]*share // share of a node towards another, by their indexes
	batch  *packet.Batch
	qpn    bth.QPN
}

// New returns the network of sc with all connections set up and all acts scheduled. If tap is not
// nil, it is called with every datagram as it is sent; tap must not keep the slice.
func New(sc *scenario.Scenario, tap func(at scenario.Time, datagram []byte)) *Network {
	net := &Network{World: world.New(sc, tap), qpn: 0x10, batch: packet.NewBatch(64), shares: map[[2]int]*share{}}
	for i, spec := range sc.Nodes {
		net.nodes = append(net.nodes, net.newNode(sc.Seed, i, spec))
	}
	for i := range sc.Conns {
		net.newConn(i, &sc.Conns[i])
	}
	for i := range sc.Groups {
		net.newGroup(i, &sc.Groups[i])
	}
	for i := range sc.Acts {
		a := &sc.Acts[i]
		e := net.conns[a.Conn].ends[a.End]
		net.At(a.At, func() { e.act(a) })
	}
	return net
}

// secret returns the secret of a node's key table. It is derived from the seed, so that runs
// repeat exactly.
func secret(seed uint64) (s [32]byte) {
	binary.LittleEndian.PutUint64(s[:], seed)
	return s
}

func (net *Network) newNode(seed uint64, i int, spec scenario.NodeSpec) *node {
	n := &node{index: i, spec: spec, keys: mr.NewTable(secret(seed+uint64(i)), 0), pd: &mr.PD{ID: uint32(i)},
		qps: map[bth.QPN]*end{}, open: map[uint32]*keyModel{}}
	var err error
	if n.shared, err = n.keys.AllocWindow(n.pd, mr.WindowType1); err != nil {
		net.Fail("node", "%v", err)
	}
	n.first = n.shared.RKey()
	for i := range n.srqs {
		n.srqs[i] = &receives{srq: qp.NewSRQ(n.pd, scenario.MaxQueue, scenario.MaxSGE)}
		n.srqs[i].srq.Events = n.srqs[i]
	}
	for _, spec := range spec.CQs {
		n.cqs = append(n.cqs, net.newCQ(spec))
	}
	n.mem = memory{real: make([]byte, scenario.MemSize), ref: make([]byte, scenario.MemSize), watch: spec.CallMemory}
	x := seed*2 + uint64(i)*0x9e3779b97f4a7c15 + 1
	for j := range n.mem.real {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		n.mem.real[j] = byte(x >> 24)
	}
	copy(n.mem.ref, n.mem.real)
	return n
}

// address returns the address that n uses with node to: IPv6 if both have it.
func (n *node) address(to *node) netip.Addr { return n.addr(n.spec.IPv6 && to.spec.IPv6) }

func (n *node) addr(ipv6 bool) netip.Addr {
	if ipv6 {
		return netip.AddrFrom16([16]byte{0xfd, 0x67, 15: byte(n.index + 1)})
	}
	return netip.AddrFrom4([4]byte{192, 0, 2, byte(n.index + 1)})
}

func (net *Network) newConn(i int, spec *scenario.ConnSpec) {
	c := &conn{index: i, spec: spec}
	c.flow.LossTimeout = transport.AckTimeout(spec.Ends[0].Timeout) / 8
	for side := range spec.Ends {
		es := &spec.Ends[side]
		n := net.nodes[es.Node]
		e := &end{net: net, conn: c, side: side, spec: es, node: n,
			cq: net.newCQ(scenario.CQSpec{Depth: 2 * scenario.MaxQueue})}
		if es.CQ > 0 {
			e.cq = n.cqs[es.CQ-1]
		}
		e.cq.users = append(e.cq.users, e)
		e.made.cq, e.events.made = e.cq, &e.made
		to := net.nodes[spec.Ends[1-side].Node]
		e.path = packet.Path{Src: n.address(to), Dst: to.address(n)}
		e.qp = &qp.QP{
			Num: net.newQPN(), Type: spec.Type, SigAll: es.SigAll, PD: n.pd,
			SQ:   qp.NewSendQueue(scenario.MaxQueue, scenario.MaxSGE, es.SigAll),
			Recv: qp.NewRecvQueue(n.pd, scenario.MaxQueue, scenario.MaxSGE), SendCQ: &e.made, RecvCQ: &e.made,
			Events: &e.events,
		}
		if e.recvs = (&receives{}); es.SRQ {
			e.recvs = n.srqs[0]
			if spec.Type != qp.RC {
				e.recvs = n.srqs[1]
			}
			e.qp.Recv = e.recvs.srq
		}
		e.allocKeys()
		e.qp.SQ.SetMaxInline(scenario.MaxInline)
		switch spec.Type {
		case qp.UC:
			e.m = transport.NewUC(e.qp, n.keys)
		case qp.UD:
			e.m = transport.NewUD(e.qp, n.keys)
			e.ah = transport.NewAH(n.pd, qp.AddressVector{DGID: qp.GIDFromAddr(e.path.Dst)}, 0, e.path, spec.MTU, nil)
		default:
			rc := transport.NewRC(e.qp, n.keys, &es.Config)
			e.m = rc
			e.joinShare(rc)
		}
		n.qps[e.qp.Num] = e
		c.ends[side] = e
	}
	net.conns = append(net.conns, c)
	c.connect()
}

// Stream posts requests like act on the first end, up to total of them with up to depth
// outstanding, plays until they have completed, and returns how many have.
func (net *Network) Stream(act *scenario.Act, total, depth int) (completed int) {
	e := net.conns[0].ends[0]
	for net.Violation == nil && e.oldest < total {
		for len(e.sends) < total && len(e.sends)-e.oldest < depth {
			e.post(act)
			e.ready()
		}
		if !net.Step() {
			break
		}
	}
	return e.oldest
}

// Finish completes the run: it plays until no work is left, checks that all requests completed,
// that memory equals the reference and that no keys remain, and completes the statistics.
func (net *Network) Finish() {
	for _, c := range net.conns {
		for _, e := range c.ends {
			if net.Violation == nil && e.state() == qp.SQD {
				e.resume()
				e.ready()
				net.Play()
			}
		}
	}
	for _, c := range net.conns {
		for _, e := range c.ends {
			if s := e.head(); s != nil && net.Violation == nil {
				e.fail("request %d, a %v, never completes; the queue pair is in %v", s.id, s.op, e.state())
			}
		}
	}
	for i, n := range net.nodes {
		if err := n.keys.DeallocWindow(n.shared); err != nil {
			net.Fail(fmt.Sprintf("node %d", i), "%v", err)
		}
	}
	for _, c := range net.conns {
		for _, e := range c.ends {
			if net.Violation == nil {
				e.toError("the end")
				e.freeKeys()
				e.deregister(&e.local)
				e.deregister(&e.remote)
			}
		}
	}
	net.Play()
	for _, n := range net.nodes {
		for _, c := range n.cqs {
			if len(c.users) > 0 {
				c.poll(len(c.list))
				c.check()
			}
		}
		if err := n.mem.same(); err != nil {
			net.Fail(fmt.Sprintf("node %d", n.index), "%v", err)
		}
		if n.keys.Len() != 0 {
			net.Fail(fmt.Sprintf("node %d", n.index), "%d regions are left", n.keys.Len())
		}
	}
	net.Stats.Virtual = net.Now
	for _, c := range net.conns {
		for _, e := range c.ends {
			net.Stats.Kept += e.m.Counters().EarlyKept
			net.Stats.Probes += e.m.Counters().Probes
		}
	}
	if net.Violation == nil {
		net.Stats.Conversations = uint64(len(net.conns))
	}
}
