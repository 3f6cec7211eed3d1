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

// inbox receives from one link, from one receive queue of a link, or from one multicast group. Its
// goroutine receives (run). If shared is set, callers that poll a completion queue receive too
// (drive): one goroutine at a time, the one that holds mu.
type inbox struct {
	*gid
	shard *shard        // shard of most packets of the inbox; packets for other shards are processed after its own
	wire  *attachedLink // link received from; for a multicast inbox, the link whose Join created it
	from  packet.Receiver
	to    netip.Addr // destination of its frames: the address of the link or of the group
	group *group     // nil for a link

	// If several goroutines may receive (see drive), shared is set and the receiver holds mu, which
	// guards the fields below mu.
	shared  packet.Shared // nil: only run receives
	polled  bool          // a poller, not run, processes the batch
	spinner spinner
	mu      sync.Mutex
	rb      *packet.RecvBatch
	seeds   seeds
	good    []arrival // frames of this batch that passed check
	count   received  // counts of this batch, not yet added to the shard's
	full    uint64    // packets of the previous batch that were dropped because another shard was busy

	// Bit masks of the other shards, by index, for which the batch has packets: strays for packets
	// from the peer of their queue pair and for multicasts, datagrams for packets to datagram queue
	// pairs.
	strays, datagrams uint64
}

// An arrival is a frame that was decoded and whose ICRC is correct.
type arrival struct {
	packet bth.Packet
	src    netip.Addr
	grh    transport.GRH // network header of a datagram
	ecn    uint8         // ECN field of the IP header (RFC 3168), 0 if the link does not report it
}

// newInbox returns the inbox of g's link. It is called with a shard's lock held, like newQueueInbox
// and newGroupInbox.
func newInbox(g *gid, s *shard) *inbox {
	return &inbox{
		gid: g, shard: s, wire: g.wire, from: g.link, to: g.local,
		shared: packet.SharedOf(g.link), spinner: spinner{maxSpin: s.dev.spin},
		rb: packet.NewRecvBatch(max(g.caps.Batch, 1)),
	}
}

// newQueueInbox returns the inbox of from, the receive queue of g's link for shard s.
func newQueueInbox(g *gid, s *shard, from packet.Queue) *inbox {
	in := newInbox(g, s)
	in.from, in.shared = nil, from
	return in
}

// newGroupInbox returns the inbox of group g, which via's link has joined with the membership from.
func newGroupInbox(via *gid, s *shard, from packet.Receiver, g *group) *inbox {
	in := newInbox(via, s)
	in.from, in.to, in.group, in.shared = from, g.addr, g, nil
	return in
}

// run receives until the link is closed or removed, or the device has left the group.
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

// over records that receiving has ended. It waits for a poller that took a batch before the link
// was closed.
func (in *inbox) over() {
	defer in.wire.receivers.Done() // after Unlock, so that pollers find the lock free
	in.mu.Lock()
	defer in.mu.Unlock()
}

// turn waits for a batch, processes it, and processes the batches that arrive during the busy-poll
// that follows.
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

// ended reports whether err results from closing the receiver while the device stays open: the
// device has removed the link or left the group.
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

// pause waits after a failure to receive, longer after each successive one, so that a persistent
// error does not occupy a processor. It returns false once the link is removed or the device is
// closed.
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

// deliver processes one batch: first check, without a lock, then the rest with the lock of one
// shard after the other. It reports whether any packet passed check.
func (in *inbox) deliver() bool {
	in.count, in.strays, in.datagrams = received{}, 0, 0
	in.count.drops[dropBusy], in.full = in.full, 0
	good := in.good[:in.check()]
	if in.group != nil {
		in.strays = in.group.shards.Load() &^ (1 << in.shard.index)
	}
	in.shard.lock()
	in.receiveBatch(in.shard, good)
	for left := in.strays; left != 0; left &= left - 1 {
		s := in.shard.dev.shards[bits.TrailingZeros64(left)]
		if s.lockWithTimeout() {
			in.receiveBatch(s, good)
		} else {
			in.full += in.countFor(s, good)
		}
	}
	for left := in.datagrams &^ in.strays; left != 0; left &= left - 1 {
		s := in.shard.dev.shards[bits.TrailingZeros64(left)]
		if s.tryLock() {
			in.receiveBatch(s, good)
		} else {
			in.full += in.deferDatagrams(s, good)
		}
	}
	return len(good) > 0
}

// countFor returns how many packets of good are for s. The caller drops them if the lock of s is
// held by a slow memory access.
func (in *inbox) countFor(s *shard, good []arrival) (n uint64) {
	for i := range good {
		if in.group != nil || s.dev.shardOf(good[i].packet.DestQP) == s {
			n++
		}
	}
	return n
}

const (
	// handTime is the time after which a receiver releases the lock for a moment: memory of a file
	// may wait for a disk at each packet, and a batch may have thousands of packets.
	handTime = transport.Time(time.Millisecond)
	// handPackets is the number of packets processed between checks of the time.
	handPackets = 16
)

// receiveBatch passes the packets of good that are for s to s, and releases the lock of s, which
// the caller has taken.
func (in *inbox) receiveBatch(s *shard, good []arrival) {
	defer s.unlock()
	if s == in.shard {
		s.count.received.add(&in.count)
		s.backloggedUntil = 0
		if len(in.rb.Frames) >= backlogFrames {
			s.backloggedUntil = s.dev.now() + backlogTime
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
			if now = s.yieldLock(now); s.closed {
				return
			}
		}
		a := &good[i]
		switch {
		case in.group != nil:
			s.receiveGroup(now, in, a)
		case !s.multi || s.dev.shardOf(a.packet.DestQP) == s:
			s.receive(now, s.out[in.index], a)
		}
	}
	s.heldACKs.few = false // other receivers of packets do not send held acknowledgements
	s.storeBatch.Settle()
	s.flushFresh(now)
}

// heldLong reports whether other goroutines should get the lock before packet i is processed; since
// is the time when the lock was taken.
func (s *shard) heldLong(i int, since transport.Time) bool {
	return i%handPackets == handPackets-1 && s.dev.now()-since > handTime
}

// yieldLock releases the lock for other goroutines between received packets, takes it again, and
// returns the time then.
func (s *shard) yieldLock(now transport.Time) transport.Time {
	s.storeBatch.Settle()
	s.flushFresh(now)
	s.unlock()
	s.lock()
	return s.dev.now()
}

// check decodes the frames of the batch into in.good and returns how many passed the checks that
// need no lock of a shard.
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
			if in.admit(a) {
				n++
			}
		}
	}
	return n
}

// The only entry of the P_Key table is 0xffff, full member of the default partition. Two P_Keys
// match if their low 15 bits are equal and at least one of them is that of a full member (IBA
// 10.9.3), as the P_Key of the device is.
const (
	defaultPartition = 0x7fff
	fullMember       = 0x8000
)

// icrcRight reports whether the ICRC of a decoded frame is correct. If the link did not see the
// IPv4 header, the identification in f is a guess: icrcRight then also accepts any other
// identification with which the ICRC is correct, and stores it in f.
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
		// The CRC covers the packet twice, so end more bytes follow the identification.
		id, ok = bth.SolveIDFrom(f.ID, bth.ICRCRxeFlush(seed, b[:end]), want, len(b)+end)
	}
	f.ID = id
	return ok
}

// receive passes packet a to its queue pair. out is the shard's outbox of the GID table entry at
// which the packet arrived; a connected queue pair accepts only packets that arrive at the entry it
// uses. The lock is held.
func (s *shard) receive(now transport.Time, out *outbox, a *arrival) {
	q := s.qps.Get(a.packet.DestQP)
	switch {
	case q == nil:
		s.count.drops[dropUnknownQPN]++
	case q.dgram != nil:
		s.receiveDatagram(now, q, a)
	case q.out == nil || q.out.gid != out.gid || q.remote != a.src:
		// Also for a queue pair whose peer is not set yet.
		s.count.drops[dropStranger]++
	default:
		v, taken := s.receiveKeyed(q, now, &a.packet)
		if !taken {
			s.count.drops[dropBusy]++
			return
		}
		s.count.verdicts[v]++
		q.share.resume()
		if v == transport.Accepted {
			if !q.peerSeen {
				q.onFirstAccepted()
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

// receiveKeyed passes p to q's machine, with exclusive access to the keys if p may invalidate a
// key. taken is false if p cannot be received now because the memory of another shard stalls.
func (s *shard) receiveKeyed(q *QP, now transport.Time, p *bth.Packet) (v transport.Verdict, taken bool) {
	if q.keyed == nil || !q.keyed.Invalidates(p) {
		return q.machine.Receive(now, p), true
	}
	taken = s.withKeysExclusive(func() { v = q.machine.Receive(now, p) })
	return v, taken
}

// receiveDatagram passes a datagram to its queue pair. The lock is held.
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
