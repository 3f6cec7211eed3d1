package nic

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/nic/admit"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// QP is a queue pair with its machine. It belongs to one shard, whose lock guards all its fields;
// the exported methods take that lock.
type QP struct {
	Owner any // for the caller; set before the first event

	shard             *shard
	machine           machine
	notifier          sentNotifier     // machine, if it is a sentNotifier
	keyed             invalidator      // machine, if it is an invalidator
	reads             responseSource   // machine, if it is a responseSource
	acks              ackHolder        // machine, if it is an ackHolder
	shares            sharer           // machine, if it is a sharer
	dgram             datagramMachine  // machine, if it is a datagramMachine
	fair              *admit.FairShare // only of queue pair 1
	attr              qp.QP
	sendCQ            *CQ
	recvCQ            *CQ
	rq                *qp.RecvQueue // own receive queue; nil if an SRQ or a source provides receives
	srq               *SRQ          // nil: none
	closed            bool
	mayChangeKeys     bool           // outstanding work requests may change keys
	postponed         bool           // transmission is delayed: see shard.postpone
	sourceMayHaveMore bool           // the source may have requests that did not fit into the send queue
	first             func()         // called when the first packet arrives, then set to nil
	failure           Failure        // first failure since RESET
	onFailure         func()         // called when failure is set; may be nil
	number            uint64         // key in shard.inOrder
	made              transport.Time // creation time

	// The path to the peer, set with the address vector. A datagram queue pair has only out, the
	// outbox of its next datagram.
	out      *outbox     // nil: none
	path     packet.Path // frames in flight point to it
	remote   netip.Addr  // path.Dst without its zone
	peerSeen bool        // a packet of the peer was accepted on this path; out's link holds path.Dst

	turn // in the outbox, or in shard.noOutbox

	ackHold

	user  *User        // user that the queue pair belongs to, nil: none
	share *windowShare // share that the machine is a member of, nil: none
	waiter

	// Position in the shard's timers.
	sooner, later *QP
	slot          int16          // in the timer wheel, noSlot: none
	wake          transport.Time // deadline in the timer wheel
	delayed       delayedTimeout // state of a timeout that was put off
}

// QPInit has the parameters of a new queue pair.
type QPInit struct {
	Type           qp.Type
	PD             *mr.PD
	SendCQ, RecvCQ *CQ
	SRQ            *SRQ  // nil: the queue pair has its own receive queue, or Receives
	User           *User // user that the queue pair and its SRQ belong to, nil: none
	Cap            qp.Cap
	SigAll         bool

	// Sources of work requests, if the program does not post them with PostSend and PostRecv;
	// QP.Doorbell announces new ones. Receives excludes SRQ.
	Sends    qp.SendSource
	Receives qp.RecvSource
}

// sendDepth returns the size of the send queue; a source may hold more requests.
func (i *QPInit) sendDepth() int {
	if i.Sends == nil {
		return i.Cap.MaxSendWR
	}
	return min(i.Cap.MaxSendWR, fetchedDepth)
}

// CreateQP creates a queue pair in RESET. The caller has checked that all objects of init belong
// to d and that the sizes are within the device's limits.
func (d *Device) CreateQP(init QPInit) (*QP, error) {
	s := d.shardFor(&init)
	q := &QP{shard: s, user: init.User, sendCQ: init.SendCQ, recvCQ: init.RecvCQ, srq: init.SRQ, slot: noSlot}
	q.attr = qp.QP{
		Type: init.Type, SigAll: init.SigAll, PD: init.PD, Cap: init.Cap,
		SQ:     qp.NewSendQueue(init.sendDepth(), init.Cap.MaxSendSGE, init.SigAll),
		SendCQ: init.SendCQ, RecvCQ: init.RecvCQ, Events: (*qpSink)(q),
	}
	switch {
	case q.srq != nil:
		q.attr.Recv = q.srq.queue
	case init.Receives != nil:
		q.attr.Recv = init.Receives
	default:
		q.rq = qp.NewRecvQueue(init.PD, init.Cap.MaxRecvWR, init.Cap.MaxRecvSGE)
		q.attr.Recv = q.rq
	}
	q.attr.SQ.SetMaxInline(init.Cap.MaxInline)
	if init.Sends != nil {
		q.attr.SQ.SetSource(init.Sends)
	}
	q.observe(d.observer)

	s.lock()
	defer s.unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if d.open.Add(1) > int64(d.maxQP) {
		d.open.Add(-1)
		return nil, fmt.Errorf(
			"all %d queue pairs of the device are in use: close one, or open the device with a larger MaxQP", d.maxQP)
	}
	if err := s.enter(q); err != nil {
		d.open.Add(-1)
		return nil, err
	}
	return q, nil
}

// enter creates q's machine and adds q to the shard, with a number. The lock is held.
func (s *shard) enter(q *QP) error {
	d, typ := s.dev, q.attr.Type
	if typ == qp.GSI && s.qps.Has(bth.GSI) {
		return fmt.Errorf("the device has its one queue pair of type %v already", qp.GSI)
	}
	m, err := s.newMachine(&q.attr)
	if err != nil {
		return err
	}
	if err := q.attr.PD.Hold(); err != nil {
		return err
	}
	if err := q.holdQueues(); err != nil {
		q.attr.PD.Release()
		return err
	}
	if q.machine = m; d.observer != nil {
		q.machine = &observed{machine: m, q: q, o: d.observer, state: q.attr.State()}
	}
	q.notifier, _ = m.(sentNotifier)
	q.keyed, _ = m.(invalidator)
	q.reads, _ = m.(responseSource)
	q.shares, _ = m.(sharer)
	q.acks, _ = m.(ackHolder)
	q.dgram, _ = m.(datagramMachine)
	if o, ok := q.machine.(*observed); ok && q.dgram != nil {
		q.dgram = &observedDatagrams{q.dgram, o}
	}
	if q.attr.Num = bth.GSI; typ != qp.GSI {
		q.attr.Num = s.qpns.take(func(n bth.QPN) bool { return s.qps.Has(n) || d.shardOf(n) != s })
	}
	s.qps.Put(q.attr.Num, q)
	q.registerSender()
	q.number, q.made = d.made.Add(1), d.now()
	s.inOrder.Put(q.number, q)
	return nil
}

// holdQueues counts q as a user of its CQs and its SRQ. After an error, it is counted nowhere.
func (q *QP) holdQueues() error {
	if err := q.sendCQ.hold(); err != nil {
		return fmt.Errorf("the send CQ: %w", err)
	}
	if err := q.recvCQ.hold(); err != nil {
		q.sendCQ.release()
		return fmt.Errorf("the receive CQ: %w", err)
	}
	if q.srq != nil {
		if err := q.srq.hold(); err != nil {
			q.sendCQ.release()
			q.recvCQ.release()
			return err
		}
	}
	return nil
}

// Type returns the queue pair's type.
func (q *QP) Type() qp.Type { return q.attr.Type }

// SharesReceives reports whether other queue pairs take receives from the same source.
func (q *QP) SharesReceives() bool { return q.attr.Recv.Shared() }

// Num returns the queue pair number.
func (q *QP) Num() bth.QPN { return q.attr.Num }

// Close destroys the queue pair. Outstanding work ends without completions, as with
// ibv_destroy_qp; packets for the queue pair are counted as for an unknown number. Closing again
// does nothing.
func (q *QP) Close() {
	s := q.shard
	s.lock()
	defer s.unlock()
	for !q.closed && s.dev.keys.HasBound(uint32(q.attr.Num)) {
		// Removing the keys needs the locks of all shards, which lockKeys takes in order.
		s.unlock()
		s.dev.lockKeys()
		s.dev.keys.UnbindQP(uint32(q.attr.Num))
		s.dev.unlockKeys()
		s.lock()
	}
	q.close()
}

// close is Close with the lock held.
func (q *QP) close() {
	if q.closed {
		return
	}
	q.shard.sendHeld(q)
	q.closed = true
	s := q.shard
	s.qps.Delete(q.attr.Num)
	s.inOrder.Remove(q.number)
	s.dev.open.Add(-1)
	if s.dev.keys.HasBound(uint32(q.attr.Num)) { // the device is being closed
		s.withKeysExclusive(func() { s.dev.keys.UnbindQP(uint32(q.attr.Num)) })
	}
	s.timers.remove(q)
	if q.dgram != nil {
		s.dev.groups.leaveAll(q)
	}
	if c, ok := q.machine.(interface{ Close() }); ok {
		c.Close()
	}
	q.setOutbox(nil, packet.Path{})
	if q.list != nil {
		q.list.remove(q)
	}
	if s.multi {
		s.dev.senders.remove(q.attr.Num)
	}
	s.count.addClosed(q)
	q.sendCQ.release()
	q.recvCQ.release()
	q.attr.PD.Release()
	if q.srq != nil {
		q.srq.users--
	}
	s.dev.events.forget(q)
}

// usable returns an error if the queue pair or its shard is closed. The lock is held.
func (q *QP) usable() error {
	if q.closed || q.shard.closed {
		return fmt.Errorf("queue pair %#06x: %w", uint32(q.attr.Num), ErrClosed)
	}
	return nil
}

// Modify changes attributes like ibv_modify_qp. An address vector must refer to an entry of the
// GID table and to a peer that its link can reach; the path MTU must fit the link. After an error
// nothing is changed.
func (q *QP) Modify(a *qp.Attr, mask qp.AttrMask) error {
	s := q.shard
	s.lock()
	defer s.unlock()
	if err := q.usable(); err != nil {
		return err
	}
	if err := q.attr.CheckModify(a, mask); err != nil {
		return err
	}
	out, path, err := q.pathFor(a, mask)
	if err != nil {
		return err
	}
	s.sendHeld(q)
	if err := q.attr.Modify(a, mask); err != nil {
		return err
	}
	if q.attr.State() == qp.RESET {
		out, path = nil, packet.Path{}
		q.failure = Failure{}
	}
	q.setOutbox(out, path)
	now := s.dev.now()
	q.machine.Modified(now)
	q.share.resume()
	s.markReady(q)
	s.wakeAt(q, now)
	s.flush(now)
	return nil
}

// State returns the current state.
func (q *QP) State() qp.State {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.attr.State()
}

// Query returns the current attributes and capabilities.
func (q *QP) Query() (qp.Attr, qp.Cap) {
	q.shard.mu.Lock()
	defer q.shard.mu.Unlock()
	return q.attr.Query(), q.attr.Cap
}

// pipelined is the number of outstanding work requests from which throughput matters more than
// latency: from there on a post leaves sending to the pump, which sends the requests of many
// posts with one system call.
const pipelined = 8

// PostSend queues the work requests and, unless many are outstanding, sends in the caller's
// goroutine what may be sent now. It returns the number n of requests queued; after an error,
// wrs[n] was rejected and later requests were not examined.
func (q *QP) PostSend(wrs []*qp.SendWR) (n int, err error) {
	q.shard.lock()
	defer q.shard.unlock()
	return q.postSend(wrs)
}

// postSend is PostSend with the lock held.
func (q *QP) postSend(wrs []*qp.SendWR) (n int, err error) {
	if err := q.usable(); err != nil {
		return 0, err
	}
	if q.attr.SQ.HasSource() {
		return 0, errSourced
	}
	busy := q.attr.SQ.Len() >= pipelined
	if q.attr.SQ.Len() == 0 {
		q.mayChangeKeys = false
	}
	for _, wr := range wrs {
		if err = q.attr.CheckPost(wr); err != nil {
			break
		}
		if err = q.attr.SQ.Push(wr); err != nil {
			break
		}
		q.mayChangeKeys = q.mayChangeKeys || wr.Opcode.IsLocal()
		n++
	}
	if n > 0 {
		q.machine.Posted()
		q.begin(busy)
	}
	return n, err
}

// begin sends the posted requests or, if busy is set, leaves that to the pump.
func (q *QP) begin(busy bool) {
	s := q.shard
	s.markReady(q)
	if busy {
		s.failUsers(s.dev.now())
		s.wakePump()
	} else {
		s.flush(s.dev.now())
	}
}

// PostRecv queues receive work requests. Its results are those of PostSend.
func (q *QP) PostRecv(wrs []*qp.RecvWR) (n int, err error) {
	s := q.shard
	s.lock()
	defer s.unlock()
	if err := q.usable(); err != nil {
		return 0, err
	}
	if q.rq == nil && q.srq == nil {
		return 0, errSourced
	}
	for _, wr := range wrs {
		if err = q.attr.CheckPostRecv(); err != nil {
			break
		}
		if err = q.rq.Push(wr); err != nil {
			break
		}
		n++
	}
	if n > 0 {
		q.machine.Posted()
		s.failUsers(s.dev.now())
	}
	return n, err
}
