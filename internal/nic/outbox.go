package nic

import (
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

const (
	// minBatch is the minimum capacity of a batch, in frames.
	minBatch = 128
	// flushBytes limits what one outbox sends before the lock is released, in bytes as charged by
	// outbox.transmit. With a quarter of it, a peer receives smaller batches and answers with more
	// ACKs.
	flushBytes = 1 << 20
	// pumpTime is the time after which the pump begins no further batch before it releases the
	// lock: memory of a file may wait for a disk at each page.
	pumpTime = transport.Time(time.Millisecond)
	// backlogFlushBytes is used instead of flushBytes by the pump of a shard with a backlog
	// (shard.backlogged), so that the receiver gets the lock more often and takes packets as fast
	// as they arrive.
	backlogFlushBytes = 64 << 10
	// backlogFrames is the minimum number of frames in a received batch that indicates a backlog:
	// half of what the UDP link receives at once.
	backlogFrames = 32
	// backlogTime is the time for which the shard has a backlog after such a batch. On a single
	// processor, if other goroutines always run, the runtime checks only every 10 ms whether there
	// are packets for a sleeping receiver.
	backlogTime = transport.Time(20 * time.Millisecond)
	// maxFlattened is the maximum length in bytes of a frame whose pieces are copied into one: for
	// short pieces a copy is faster than gathering by the kernel.
	maxFlattened = 512
)

// outbox has what a shard needs to send by one entry of the GID table: the ready queue pairs and
// the batch that they fill. It remains while the address is absent. The shard's lock guards it.
type outbox struct {
	*gid
	batch   *packet.Batch
	pending packet.PendingReporter // the link or the shard's queue of it, if that is a PendingReporter; else nil
	seeds   seeds
	batches atomic.Uint64 // number of batches received from the link, or from the shard's queue of it
	users   int           // connected queue pairs that use the outbox
	rxFrom  *outbox       // outbox whose batches counts packets for this shard: this one, or shard 0's
	loops   bool          // a loopback outbox: the peers of its queue pairs are in the device
	ends    []ends        // source and destination of the frames in the batch, if loops is set

	turns // the ready queue pairs

	awaitingSent []*QP // queue pairs in the batch whose requests complete once the batch is sent
}

// ends has the QPNs of the queue pairs that a frame comes from and goes to.
type ends struct{ from, to bth.QPN }

// connect prepares o, an outbox of s, for the link of its entry.
func (o *outbox) connect(s *shard) {
	if n := max(o.caps.Batch, minBatch); o.batch == nil || o.batch.Cap() != n {
		o.batch = packet.NewBatch(n)
	}
	o.batch.LinkHasGSO = o.caps.GSO && !o.loops
	for _, q := range s.qps.All {
		if q.out == o && q.peerSeen {
			packet.Hold(o.link, q.path.Dst)
		}
	}
	if o.loops {
		o.rxFrom = o
		return
	}
	if o.queues != nil {
		o.pending, o.rxFrom = o.queues[s.index], o
		return
	}
	o.pending, _ = o.link.(packet.PendingReporter)
	o.rxFrom = s.dev.shard0().out[o.index]
}

// disconnect prepares o for the time that its entry has no link, which may be forever: it keeps
// only a minimal batch.
func (o *outbox) disconnect() { o.pending, o.batch = nil, packet.NewBatch(1) }

// used reports whether a queue pair uses o.
func (o *outbox) used() bool { return o.users > 0 || !o.empty() }

// behind reports whether the link has packets that may not have been processed. It makes a system
// call.
func (o *outbox) behind() bool { return o.pending != nil && o.pending.Pending() }

// transmit fills one batch with frames of the ready queue pairs, of all or only of the fresh ones,
// until their charge reaches budget bytes, and sends the batch. It returns the charge, at least
// minCharge, so that every call uses up some of the budget.
//
// On a link with segmentation offload, frames of equal length to one peer are sent as one UDP GSO
// datagram. Such a train has packets of one queue pair only, because the receiving kernel steers
// the whole train to a receive queue by its first packet.
func (o *outbox) transmit(s *shard, now transport.Time, budget int, all bool) (bytes int) {
	before := s.fetched
	for stuck := false; !o.batch.Full() && !stuck && bytes < budget &&
		(s.fetched-before)*chargePerRequest < turnBytes; {
		q := o.pop(all)
		if q == nil {
			break
		}
		q.refill()
		if !o.serves(q) {
			s.markReady(q)
			continue
		}
		if q.mayChangeKeys && o.batch.Len() > 0 {
			// Payload in the batch may be borrowed from a region whose key q removes.
			o.requeue(q, false)
			break
		}
		answers := q.reads != nil && q.reads.HasResponses()
		if answers {
			q.reads.HoldReplays(q.postponed || !o.mayRepeat(now))
		}
		had := o.batch.Len()
		more, sent := s.transmit(q, now, o.batch, min(q.frames(q.longest(), budget-bytes), o.batch.Cap()-had))
		if !sent {
			s.postpone(q, now)
			continue
		}
		if q.notifier != nil {
			o.awaitingSent = append(o.awaitingSent, q)
		}
		q.share.update(q)
		s.heldACKs.remove(q)
		for i := had; o.loops && i < o.batch.Len(); i++ {
			o.ends = append(o.ends, ends{q.attr.Num, q.attr.Attr.DestQPN})
		}
		charged := o.chargeOf(had)
		q.credit -= charged
		bytes += charged
		repeated, held := 0, false
		if answers {
			repeated, held = q.reads.Replayed()
		}
		o.recordSent(q, now, o.batch.Len()-had, repeated)
		if held {
			s.postpone(q, now)
			bytes += minCharge // a peer may have many such queue pairs
		}
		if more || q.mustFetch() {
			// The machine took back a frame that turned out to be impossible, or its requests
			// needed no frames: asking it again at once must not become a loop.
			stuck = o.batch.Len() == had
			if all && s.backlogged(now) && !stuck {
				o.leaveToPump(q) // packets that wait to be received come first
			} else {
				o.requeue(q, stuck)
			}
		}
		s.wakeAt(q, now)
	}
	if o.batch.Len() > 0 {
		o.send(s, now)
		o.ends = o.ends[:0]
	}
	for _, q := range o.awaitingSent {
		if q.notifier.Sent(now) || q.refill() {
			s.markReady(q)
		}
	}
	o.awaitingSent = o.awaitingSent[:0]
	return max(bytes+(s.fetched-before)*chargePerRequest, minCharge)
}

// longest returns the maximum length of a frame of the queue pair, in bytes.
func (q *QP) longest() int {
	mtu := int(q.attr.Attr.PathMTU)
	if mtu == 0 {
		mtu = 4096 // the path MTU of a datagram is that of its address handle
	}
	return mtu + packet.HeaderRoom + packet.TrailerRoom
}

// chargeOf returns the charge for the frames of the batch from index had on.
func (o *outbox) chargeOf(had int) (bytes int) {
	for i := had; i < o.batch.Len(); i++ {
		bytes += max(o.batch.At(i).Len(), minCharge)
	}
	return bytes
}

// transmit lets q's machine append up to limit frames to dst, which must be empty if q may change
// keys, because no payload may be borrowed then. more reports whether the machine has more to send.
// sent is false if the machine could not run because the memory of another shard stalls.
func (s *shard) transmit(q *QP, now transport.Time, dst *packet.Batch, limit int) (more, sent bool) {
	if !q.mayChangeKeys {
		return q.machine.Transmit(now, &q.path, dst, limit), true
	}
	if !s.withKeysExclusive(func() { more = q.machine.Transmit(now, &q.path, dst, limit) }) {
		return false, false
	}
	q.mayChangeKeys = q.attr.SQ.Len() > 0
	return more, true
}

// postponed is the delay before the next try of a queue pair that could not change keys, or was not
// allowed to repeat responses.
const postponed = transport.Time(10 * time.Millisecond)

// postpone makes q ready again after the delay postponed.
func (s *shard) postpone(q *QP, now transport.Time) {
	q.postponed = true
	s.timers.at(q, now, now+postponed)
}

// serves reports whether q's next frame is sent by o: the next datagram of a datagram queue pair
// may be for another entry.
func (o *outbox) serves(q *QP) bool {
	if q.dgram == nil {
		return true
	}
	link, ok := q.dgram.Link()
	return ok && link == o.index
}

// send seals and sends the batch, or passes it to deliverLocally, and empties it.
func (o *outbox) send(s *shard, now transport.Time) {
	b := o.batch
	if o.link == nil {
		s.dev.lost(s, now, b.Len(), o.errAbsent)
		b.Reset()
		return
	}
	if o.loops {
		o.deliverLocally(s, now)
		return
	}
	o.link.Prepare(b)
	bytes := 0
	for i := range b.Len() {
		f := b.At(i)
		n := f.Len()
		switch {
		case len(f.Payload) == 0:
			o.seal(f)
		case f.Volatile || n <= maxFlattened:
			o.sealJoined(f, f.Flatten(bth.ICRCLen))
		default:
			f.PackEnds(bth.ICRCLen)
			o.seal(f)
		}
		bytes += n + bth.ICRCLen
	}
	s.count.txFrames += uint64(b.Len())
	s.count.txBytes += uint64(bytes)
	err := o.link.Send(b)
	for errors.Is(err, packet.ErrReprepare) {
		o.link.Prepare(b)
		for i := b.Sent; i < b.Len(); i++ {
			f := b.At(i)
			f.Trailer = f.Trailer[:len(f.Trailer)-bth.ICRCLen]
			o.seal(f)
		}
		err = o.link.Send(b)
	}
	if err != nil {
		s.dev.refused(s, now, err)
	}
	b.Reset()
}

// seal appends the ICRC for the addresses, the port and the identification with which the link
// will send f.
func (o *outbox) seal(f *packet.Frame) {
	var first []byte
	rest := f.Payload
	if len(rest) > 0 {
		first, rest = rest[0], rest[1:]
	}
	state := bth.ICRCStartWith(o.seed(f, f.Len()), f.Header, first)
	for _, p := range rest {
		state = bth.ICRCContinue(state, p)
	}
	if len(f.Trailer) > 0 {
		state = bth.ICRCContinue(state, f.Trailer)
	}
	appendICRC(f, state)
}

// sealJoined is seal for a frame whose bytes are contiguous, in all: one pass computes the ICRC.
func (o *outbox) sealJoined(f *packet.Frame, all []byte) {
	appendICRC(f, bth.ICRC(o.seed(f, len(all)), all))
}

// seed returns the seed of the ICRC of f; n is the length of f without the ICRC.
func (o *outbox) seed(f *packet.Frame, n int) uint32 {
	return o.seeds.of(o.local, f.Path.Dst, f.SrcPort, f.ID, f.FlagsFragment, n+bth.ICRCLen)
}

func appendICRC(f *packet.Frame, state uint32) {
	if f.Seal == transport.SealRxeFlushICRC {
		state = bth.ICRCContinue(state, f.Header) // as in bth.ICRCRxeFlush
	}
	f.Trailer = bth.AppendICRC(f.Trailer, state)
}

// seeds computes the seed of the ICRC, over the IP and UDP headers, and caches it by length:
// successive packets usually differ only in the IPv4 identification.
type seeds [seedSlots]struct {
	src, dst    netip.Addr
	len         int
	port, flags uint16
	seed        uint32 // for identification 0
}

// seedSlots is the number of ICRC seeds that are cached, a power of two. Packet lengths are
// multiples of four; different lengths use different slots, as far as possible.
const seedSlots = 16

// of returns the seed of a packet with the given header fields; n is the length of the UDP
// payload including the ICRC.
func (s *seeds) of(src, dst netip.Addr, port, id, flags uint16, n int) uint32 {
	e := &s[n/4&(seedSlots-1)]
	if e.len != n || e.port != port || e.flags != flags || e.src != src || e.dst != dst {
		e.src, e.dst, e.len, e.port, e.flags = src, dst, n, port, flags
		e.seed = seedWithoutID(src, dst, port, flags, bth.UDPHeaderLen+n)
	}
	if !src.Is4() {
		return e.seed
	}
	return e.seed ^ bth.IDSeed(id)
}

func seedWithoutID(src, dst netip.Addr, port, flags uint16, udpLen int) uint32 {
	if src.Is4() {
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: flags, SrcPort: port, DstPort: packet.Port,
			UDPLen: udpLen}
		return h.Seed()
	}
	h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: port, DstPort: packet.Port, UDPLen: udpLen}
	return h.Seed()
}
