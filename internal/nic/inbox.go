package nic

import (
	"errors"
	"math/bits"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

// inbox receives from one link, or what comes to one multicast group. Its goroutine does, and for a link also who polls a
// completion queue: whoever holds mu.
type inbox struct {
	*gid
	shard *shard // most of what comes is for, and nothing before another one gets its part
	wire  *wire  // that it receives from, or that was asked to join the group
	from  packet.Receiver
	to    netip.Addr // where its frames are sent to: the link's address, or the group
	group *group     // nil for a link

	// What several may receive from: see drive. mu guards what follows it where shared is set.
	shared  packet.Shared // nil where only run receives
	polled  bool          // a poller deals with the batch
	spinner spinner
	mu      sync.Mutex
	rb      *packet.RecvBatch
	seeds   seeds
	good    []arrival // frames of this batch that passed the checks before the lock
	count   received  // what this batch adds to the counters
	full    uint64    // packets of the batch before that another shard was too busy for

	// The shards besides its own that these are for, a bit each: of packets that queue pairs with a peer take, and of
	// datagrams.
	strays, datagrams uint64
}

// An arrival is a frame that was decoded and whose ICRC is right.
type arrival struct {
	packet bth.Packet
	src    netip.Addr
	grh    transport.GRH // of a datagram
	ecn    uint8         // ECN field of the IP header (RFC 3168), 0 where the link cannot see it
}

// newInbox is called with a shard's lock held, as are newQueueInbox and newGroupInbox.
func newInbox(g *gid, s *shard) *inbox {
	return &inbox{
		gid: g, shard: s, wire: g.wire, from: g.link, to: g.local,
		shared: packet.SharedOf(g.link), spinner: spinner{most: s.dev.spin}, rb: packet.NewRecvBatch(max(g.caps.Batch, 1)),
	}
}

// newQueueInbox returns the inbox of one of several queues of g's link, which has what is for s.
func newQueueInbox(g *gid, s *shard, from packet.Queue) *inbox {
	in := newInbox(g, s)
	in.from, in.shared = nil, from
	return in
}

func newGroupInbox(via *gid, s *shard, from packet.Receiver, g *group) *inbox {
	in := newInbox(via, s)
	in.from, in.to, in.group, in.shared = from, g.addr, g, nil
	return in
}

// run receives until the link is closed or removed, or the group left.
func (in *inbox) run() {
	if in.group == nil {
		defer in.over()
	}
	for failures := 0; ; {
		err := in.turn()
		if err == nil {
			failures = 0
			continue
		}
		if in.ended(err) {
			return
		}
		if failures++; !in.shard.dev.failed(failures, err) || !in.pause(failures) {
			return
		}
	}
}

// over says that nothing is received any more. A poller that took a batch before the link was closed is waited for.
func (in *inbox) over() {
	defer in.wire.receivers.Done() // after Unlock: pollers find the lock free then
	in.mu.Lock()
	defer in.mu.Unlock()
}

// turn waits for a batch and deals with it, and with what follows soon.
func (in *inbox) turn() error {
	if in.shared == nil {
		if err := in.from.Recv(in.rb); err != nil {
			return err
		}
		in.deliver()
		in.yieldForAnswers()
		in.shard.sendHeldACKs()
		return nil
	}
	if err := in.shared.RecvLocked(in.rb, &in.mu); err != nil {
		return err
	}
	defer in.mu.Unlock()
	in.deliver()
	in.yieldForAnswers()
	err := in.spin()
	in.shard.sendHeldACKs()
	return err
}

// yieldForAnswers lets waiting programs run while an acknowledgement is held, so that they can
// answer what was just delivered.
func (in *inbox) yieldForAnswers() {
	if in.shard.heldACKs.waiting() {
		runtime.Gosched()
	}
}

// ended is true for the error of a receiver that the device itself has closed while it goes on.
func (in *inbox) ended(err error) bool {
	if !errors.Is(err, net.ErrClosed) {
		return false
	}
	select {
	case <-in.wire.gone:
		return true
	default:
		return in.group != nil
	}
}

// pause waits a little after a failure to receive, longer each time, so that an error that
// does not go away does not eat the processor. It is false once the link is removed or the
// device closed.
func (in *inbox) pause(failures int) bool {
	select {
	case <-in.shard.dev.done:
		return false
	case <-in.wire.gone:
		return false
	case <-time.After(time.Millisecond << min(failures-1, 10)):
		return true
	}
}

// deliver takes one batch: first what needs no lock, then all the rest under it. It reports whether any packet passed the
// checks before the lock.
func (in *inbox) deliver() bool {
	in.count, in.strays, in.datagrams = received{}, 0, 0
	in.count.drops[dropBusy], in.full = in.full, 0
	good := in.good[:in.check()]
	if in.group != nil {
		in.strays = in.group.shards.Load() &^ (1 << in.shard.index)
	}
	in.shard.lock()
	in.hand(in.shard, good)
	for left := in.strays; left != 0; left &= left - 1 {
		s := in.shard.dev.shards[bits.TrailingZeros64(left)]
		if s.lockSoon() {
			in.hand(s, good)
		} else {
			in.full += in.lose(s, good)
		}
	}
	for left := in.datagrams &^ in.strays; left != 0; left &= left - 1 {
		s := in.shard.dev.shards[bits.TrailingZeros64(left)]
		if s.tryLock() {
			in.hand(s, good)
		} else {
			in.full += in.holdDatagrams(s, good)
		}
	}
	return len(good) > 0
}

// lose returns how many of good are for s, whose memory stalls.
func (in *inbox) lose(s *shard, good []arrival) (n uint64) {
	for i := range good {
		if in.group != nil || s.dev.shardOf(good[i].packet.DestQP) == s {
			n++
		}
	}
	return n
}

const (
	// handTime bounds the time that a receiver holds a lock before others get it, memory of a file may wait for a disk
	// at each packet, and a batch may have thousands.
	handTime = transport.Time(time.Millisecond)
	// handPackets is how many packets it deals with before it looks at the time.
	handPackets = 16
)

// hand gives s the packets that are for it, and releases its lock, which the caller took.
func (in *inbox) hand(s *shard, good []arrival) {
	defer s.unlock()
	if s == in.shard {
		s.count.received.add(&in.count)
		s.crowdedUntil = 0
		if len(in.rb.Frames) >= crowd {
			s.crowdedUntil = s.dev.now() + crowdTime
		}
		if in.group == nil {
			s.out[in.index].batches.Add(1)
		}
	}
	if len(good) == 0 || s.closed {
		return
	}
	now := s.dev.now()
	s.heldACKs.few, s.heldACKs.polled = s == in.shard && len(in.rb.Frames) <= fewFrames, in.polled
	for i := range good {
		if s.heldLong(i, now) {
			if now = s.giveWay(now); s.closed {
				return
			}
		}
		a := &good[i]
		switch {
		case in.group != nil:
			s.receiveGroup(now, in, a)
		case !s.several || s.dev.shardOf(a.packet.DestQP) == s:
			s.receive(now, s.out[in.index], a)
		}
	}
	s.heldACKs.few = false // others that receive do not look after what is held
	s.gather.Settle()
	s.flushFresh(now)
}

// heldLong reports whether others should get the lock before packet i of those that are received since a time.
func (s *shard) heldLong(i int, since transport.Time) bool {
	return i%handPackets == handPackets-1 && s.dev.now()-since > handTime
}

// giveWay lets others have the lock after packets have been received, and returns the time after that.
func (s *shard) giveWay(now transport.Time) transport.Time {
	s.gather.Settle()
	s.flushFresh(now)
	s.unlock()
	s.lock()
	return s.dev.now()
}

// check decodes the frames of the batch into in.good and returns how many passed.
func (in *inbox) check() (n int) {
	for len(in.good) < len(in.rb.Frames) {
		in.good = append(in.good, arrival{})
	}
	for i := range in.rb.Frames {
		f := &in.rb.Frames[i]
		in.count.frames++
		in.count.bytes += uint64(len(f.Data))
		a := &in.good[n]
		if err := a.packet.Decode(f.Data); err != nil {
			in.count.malformed[bth.ReasonOf(err)]++
			continue
		}
		switch {
		case f.Dst != in.to || f.Src.Is4() != in.local.Is4():
			in.count.drops[dropStranger]++
		case a.packet.DestQP != bth.GSI && !in.shard.dev.Admits(f.Src):
			in.count.drops[dropNotAdmitted]++
		case !in.icrcRight(f):
			in.count.drops[dropICRC]++
		case a.packet.PKey&^fullMember != defaultPartition:
			in.count.drops[dropPKey]++
		default:
			a.src, a.ecn = f.Src, f.TrafficClass&ecnBits
			if a.ecn == ecnCE {
				in.count.marked++
			}
			if a.packet.Opcode.Info().Service == bth.ServiceUD {
				a.grh.Set(f)
			}
			if in.stray(a) {
				n++
			}
		}
	}
	return n
}

// The only entry of the P_Key table is 0xffff, full member of the default partition.
// Two P_Keys match when their low 15 bits do and at least one names a full member (IBA
// 10.9.3), which the one here always does.
const (
	defaultPartition = 0x7fff
	fullMember       = 0x8000
)

// icrcRight checks the ICRC of a frame that was decoded. Where the link did not see the
// IPv4 header, the identification it guesses is tried, and any other one for which the
// ICRC would be right is good as well; f then has it.
func (in *inbox) icrcRight(f *packet.Received) bool {
	b := f.Data
	end := len(b) - bth.ICRCLen
	seed := in.seeds.of(f.Src, f.Dst, f.SrcPort, f.ID, f.FlagsFragment, len(b))
	if !f.Src.Is4() {
		return bth.CheckICRC(seed, b) || bth.CheckICRCRxeFlush(seed, b)
	}
	got, want := bth.ICRC(seed, b[:end]), bth.ReadICRC(b)
	switch {
	case got == want, bth.CheckICRCRxeFlush(seed, b):
		return true
	case f.HeaderSeen:
		return false
	}
	id, ok := bth.SolveIDFrom(f.ID, got, want, len(b))
	if !ok && bth.IsFlush(b) {
		// The CRC runs over the packet twice: that much more follows the identification.
		id, ok = bth.SolveIDFrom(f.ID, bth.ICRCRxeFlush(seed, b[:end]), want, len(b)+end)
	}
	f.ID = id
	return ok
}

// receive gives a packet that came by out's link to its queue pair. The lock is held.
func (s *shard) receive(now transport.Time, out *outbox, a *arrival) {
	q := s.qps.Get(a.packet.DestQP)
	switch {
	case q == nil:
		s.count.drops[dropUnknownQPN]++
	case q.dgram != nil:
		s.receiveDatagram(now, q, a)
	case q.out == nil || q.out.gid != out.gid || q.remote != a.src:
		// Also a queue pair that was not told its peer yet.
		s.count.drops[dropStranger]++
	default:
		v, taken := s.take(q, now, &a.packet)
		if !taken {
			s.count.drops[dropBusy]++
			return
		}
		s.count.verdicts[v]++
		q.share.resume()
		if v == transport.Accepted {
			if !q.heard {
				q.hear()
			}
			if q.first != nil {
				q.first()
				q.first = nil
			}
		}
		if !s.holdACK(q, now, a) {
			q.out.push(q)
		}
	}
}

// take lets q's machine receive p, alone with the keys if that takes one away. It is false for a
// packet that cannot be received now, because the memory of another shard stalls.
func (s *shard) take(q *QP, now transport.Time, p *bth.Packet) (v transport.Verdict, taken bool) {
	if q.keyed == nil || !q.keyed.Invalidates(p) {
		return q.machine.Receive(now, p), true
	}
	taken = s.alone(func() { v = q.machine.Receive(now, p) })
	return v, taken
}

// receiveDatagram gives a datagram to its queue pair. The lock is held.
func (s *shard) receiveDatagram(now transport.Time, q *QP, a *arrival) {
	if q.fair != nil && !q.fair.Admits(a.src) {
		s.count.drops[dropShare]++
		return
	}
	v := q.dgram.ReceiveFrom(now, &a.packet, &a.grh)
	s.count.verdicts[v]++
	if q.fair != nil && v == transport.Accepted {
		q.fair.Take(a.src)
	}
}
