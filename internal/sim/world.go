package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Violation is a promise that was not kept.
type Violation struct {
	At    Time
	Where string
	What  string
}

// Error says when, where and what.
func (v *Violation) Error() string {
	return fmt.Sprintf("at %d ns, %s: %s", v.At, v.Where, v.What)
}

// World is a scenario while it is played.
type World struct {
	sc     *Scenario
	now    Time
	queue  queue
	nodes  []*node
	conns  []*conn
	groups []*group
	links  [][]*link
	batch  *packet.Batch
	rng    *rand.Rand
	qpn    bth.QPN
	bad    *Violation
	stats  Stats
	seen   []FaultID // decisions that were carried out
	tap    func(at Time, datagram []byte)
}

// fail notes the first violation, which ends the run.
func (e *end) fail(format string, args ...any) {
	e.w.fail(e.name(), format, args...)
}

func (e *end) name() string {
	return fmt.Sprintf("connection %d (%v), end %d, QP %#x", e.conn.index, e.conn.spec.Type, e.side, uint32(e.qp.Num))
}

func (w *World) fail(where, format string, args ...any) {
	if w.bad == nil {
		w.bad = &Violation{w.now, where, fmt.Sprintf(format, args...)}
	}
}

func newWorld(sc *Scenario) *World {
	w := &World{
		sc: sc, now: 1, qpn: 0x10, batch: packet.NewBatch(64),
		rng: rand.New(rand.NewPCG(sc.Seed, 0x7475726e73)),
	}
	for i, spec := range sc.Nodes {
		w.nodes = append(w.nodes, w.newNode(i, spec))
	}
	for i := range w.nodes {
		w.links = append(w.links, nil)
		for j := range w.nodes {
			w.links[i] = append(w.links[i], &link{id: i*len(w.nodes) + j, spec: &sc.Links[i][j]})
		}
	}
	for i := range sc.Conns {
		w.newConn(i, &sc.Conns[i])
	}
	for i := range sc.Groups {
		w.newGroup(i, &sc.Groups[i])
	}
	for i := range sc.Acts {
		a := &sc.Acts[i]
		w.queue.push(event{at: a.At, kind: evAct, end: w.conns[a.Conn].ends[a.End], act: a})
	}
	return w
}

// secret is that of a node's keys, which a scenario decides like all else.
func secret(seed uint64) (s [32]byte) {
	binary.LittleEndian.PutUint64(s[:], seed)
	return s
}

func (w *World) newNode(i int, spec NodeSpec) *node {
	n := &node{index: i, spec: spec, keys: mr.NewTable(secret(w.sc.Seed+uint64(i)), 0), pd: &mr.PD{ID: uint32(i)}, qps: map[bth.QPN]*end{}, open: map[uint32]*opening{}}
	var err error
	if n.shared, err = n.keys.AllocWindow(n.pd, mr.WindowType1); err != nil {
		w.fail("node", "%v", err)
	}
	n.first = n.shared.RKey()
	for i := range n.srqs {
		n.srqs[i] = &receives{srq: qp.NewSRQ(n.pd, maxQueue, maxSGE)}
		n.srqs[i].srq.Events = n.srqs[i]
	}
	for _, spec := range spec.CQs {
		n.cqs = append(n.cqs, w.newCQ(spec))
	}
	n.mem = memory{real: make([]byte, memSize), ref: make([]byte, memSize), watch: spec.Watched}
	x := w.sc.Seed*2 + uint64(i)*0x9e3779b97f4a7c15 + 1
	for j := range n.mem.real {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		n.mem.real[j] = byte(x >> 24)
	}
	copy(n.mem.ref, n.mem.real)
	return n
}

// address of a node towards a peer: IPv6 if both have it.
func (n *node) address(to *node) netip.Addr { return n.addr(n.spec.IPv6 && to.spec.IPv6) }

func (n *node) addr(ipv6 bool) netip.Addr {
	if ipv6 {
		return netip.AddrFrom16([16]byte{0xfd, 0x67, 15: byte(n.index + 1)})
	}
	return netip.AddrFrom4([4]byte{192, 0, 2, byte(n.index + 1)})
}

func (w *World) newConn(i int, spec *ConnSpec) {
	c := &conn{index: i, spec: spec}
	for side := range spec.Ends {
		es := &spec.Ends[side]
		n := w.nodes[es.Node]
		e := &end{w: w, conn: c, side: side, spec: es, node: n, cq: w.newCQ(CQSpec{Depth: 2 * maxQueue})}
		if es.CQ > 0 {
			e.cq = n.cqs[es.CQ-1]
		}
		e.cq.users = append(e.cq.users, e)
		e.made.cq, e.events.made = e.cq, &e.made
		to := w.nodes[spec.Ends[1-side].Node]
		e.path = packet.Path{Src: n.address(to), Dst: to.address(n)}
		e.qp = &qp.QP{
			Num: w.newQPN(), Type: spec.Type, SigAll: es.SigAll, PD: n.pd,
			SQ: qp.NewSendQueue(maxQueue, maxSGE, es.SigAll), Recv: qp.NewRecvQueue(n.pd, maxQueue, maxSGE), SendCQ: &e.made, RecvCQ: &e.made,
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
		e.qp.SQ.SetMaxInline(maxInline)
		switch spec.Type {
		case qp.UC:
			e.m = transport.NewUC(e.qp, n.keys)
		case qp.UD:
			e.m = transport.NewUD(e.qp, n.keys)
			e.ah = transport.NewAH(n.pd, qp.AddressVector{DGID: qp.GIDFromAddr(e.path.Dst)}, 0, e.path, spec.MTU, nil)
		default:
			e.m = transport.NewRC(e.qp, n.keys, &es.Config)
		}
		n.qps[e.qp.Num] = e
		c.ends[side] = e
	}
	w.conns = append(w.conns, c)
	c.connect()
}
