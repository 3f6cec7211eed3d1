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
	// burst is how many frames a batch has room for at least.
	burst = 128
	// flushBytes bounds what leaves by one link before the lock is released, in bytes as frames are
	// charged. With a quarter of it a peer receives smaller batches, and answers with more ACKs.
	flushBytes = 1 << 20
	// pumpTime bounds the time that the pump holds the lock beyond one batch: memory of a file may wait
	// for a disk at each page.
	pumpTime = transport.Time(time.Millisecond)
	// crowdedBytes is the bound for the pump of a shard that is crowded: the receiver gets the lock after
	// each of them, and takes packets as fast as they come.
	crowdedBytes = 64 << 10
	// crowd is the number of frames in a batch received that makes a shard crowded: half of what the UDP
	// link takes at a time.
	crowd = 32
	// crowdTime is for how long it is crowded then at most. On a single processor the runtime looks every 10 ms only
	// whether there are packets for a receiver that sleeps, if other goroutines run all the time.
	crowdTime = transport.Time(20 * time.Millisecond)
	// joined is how long a frame is at most whose pieces are copied into one, in bytes: the kernel takes longer
	// to gather short pieces.
	joined = 512
)

// outbox is what a shard needs to send by one entry of the GID table: the queue pairs that
// wait for their turn and the batch that they fill. It stays while the address is away. The
// shard's lock guards it.
type outbox struct {
	*gid
	batch   *packet.Batch
	pender  packet.Pender // the link, or the shard's queue of it, if it is one and there
	seeds   seeds
	batches atomic.Uint64 // that came by the link, or the shard's queue of it, and were delivered
	users   int           // connected queue pairs whose way leads here
	brings  *outbox       // whose batches may hold what is for the shard: this one, or that of home
	loops   bool          // its queue pairs' peers are of the device too, and get the frames without the link
	ends    []ends        // of the frames in the batch, if loops is set

	turns // of the ready queue pairs

	leaving []*QP // those in the batch that complete when it has left
}

// ends are the queue pairs that a frame comes from and goes to.
type ends struct{ from, to bth.QPN }

// connect readies o, of s, for the link that its entry has.
func (o *outbox) connect(s *shard) {
	if n := max(o.caps.Batch, burst); o.batch == nil || o.batch.Cap() != n {
		o.batch = packet.NewBatch(n)
	}
	o.batch.Trains = o.caps.GSO && !o.loops
	for _, q := range s.qps.All {
		if q.out == o && q.heard {
			packet.Hold(o.link, q.path.Dst)
		}
	}
	if o.loops {
		o.brings = o
		return
	}
	if o.queues != nil {
		o.pender, o.brings = o.queues[s.index], o
		return
	}
	o.pender, _ = o.link.(packet.Pender)
	o.brings = s.dev.home().out[o.index]
}

// disconnect readies o for what is sent while its entry has no link, which may be for good: it
// keeps no room that it had for more.
func (o *outbox) disconnect() { o.pender, o.batch = nil, packet.NewBatch(1) }

// used reports whether a queue pair needs o to stay.
func (o *outbox) used() bool { return o.users > 0 || !o.empty() }

// behind reports whether packets have come to the link that may not have been dealt with. It is a
// system call.
func (o *outbox) behind() bool { return o.pender != nil && o.pender.Pending() }

// transmit fills one batch from the ready queue pairs, only the fresh ones or all, up to a budget in bytes as frames
// are charged, sends it and returns its charge: at least leastCharge, so that every call uses some of the budget.
func (o *outbox) transmit(s *shard, now transport.Time, budget int, all bool) (bytes int) {
	before := s.fetched
	for stuck := false; !o.batch.Full() && !stuck && bytes < budget && (s.fetched-before)*fetchCharge < turnBytes; {
		q := o.pop(all)
		if q == nil {
			break
		}
		q.refill()
		if !o.serves(q) {
			s.ready(q)
			continue
		}
		if q.rekeys && o.batch.Len() > 0 {
			// Payload in the batch may be borrowed from a region that q takes away.
			o.again(q, false)
			break
		}
		answers := q.reads != nil && q.reads.Answers()
		if answers {
			q.reads.Hold(q.postponed || !o.mayRepeat(now))
		}
		had := o.batch.Len()
		more, sent := s.transmit(q, now, o.batch, min(q.frames(q.longest(), budget-bytes), o.batch.Cap()-had))
		if !sent {
			s.postpone(q, now)
			continue
		}
		if q.sent != nil {
			o.leaving = append(o.leaving, q)
		}
		q.share.sent(q)
		s.heldACKs.remove(q)
		for i := had; o.loops && i < o.batch.Len(); i++ {
			o.ends = append(o.ends, ends{q.attr.Num, q.attr.Attr.DestQPN})
		}
		charged := o.charges(had)
		q.credit -= charged
		bytes += charged
		repeated, held := 0, false
		if answers {
			repeated, held = q.reads.Repeated()
		}
		o.sent(q, now, o.batch.Len()-had, repeated)
		if held {
			s.postpone(q, now)
			bytes += leastCharge // a peer may have many such queue pairs
		}
		if more || q.fetches() {
			// It took back a frame that turned out to be impossible, or its requests needed none: asking again
			// at once must not become a loop.
			stuck = o.batch.Len() == had
			if all && s.crowded(now) && !stuck {
				o.keep(q) // what waits to be received comes first
			} else {
				o.again(q, stuck)
			}
		}
		s.wakeAt(q, now)
	}
	if o.batch.Len() > 0 {
		o.send(s, now)
		o.ends = o.ends[:0]
	}
	for _, q := range o.leaving {
		if q.sent.Sent(now) || q.refill() {
			s.ready(q)
		}
	}
	o.leaving = o.leaving[:0]
	return max(bytes+(s.fetched-before)*fetchCharge, leastCharge)
}

// longest is how long a frame of the queue pair is at most, in bytes.
func (q *QP) longest() int {
	mtu := int(q.attr.Attr.PathMTU)
	if mtu == 0 {
		mtu = 4096 // of datagrams each has its own
	}
	return mtu + packet.HeaderRoom + packet.TrailerRoom
}

// charges is what the frames of the batch from had on are charged together.
func (o *outbox) charges(had int) (bytes int) {
	for i := had; i < o.batch.Len(); i++ {
		bytes += max(o.batch.At(i).Len(), leastCharge)
	}
	return bytes
}

// transmit lets q's machine fill dst, which is empty if it may change keys: payload may not be
// borrowed then. sent is false if it could not, because the memory of another shard stalls.
func (s *shard) transmit(q *QP, now transport.Time, dst *packet.Batch, limit int) (more, sent bool) {
	if !q.rekeys {
		return q.machine.Transmit(now, &q.path, dst, limit), true
	}
	if !s.alone(func() { more = q.machine.Transmit(now, &q.path, dst, limit) }) {
		return false, false
	}
	q.rekeys = q.attr.SQ.Len() > 0
	return more, true
}

// postponed is for how long a queue pair waits that could not change keys, or may not send what was asked for often.
const postponed = transport.Time(10 * time.Millisecond)

// postpone makes q ready again later.
func (s *shard) postpone(q *QP, now transport.Time) {
	q.postponed = true
	s.timers.at(q, now, now+postponed)
}

// serves is false for a queue pair whose next datagram leaves by another link.
func (o *outbox) serves(q *QP) bool {
	if q.dgram == nil {
		return true
	}
	link, ok := q.dgram.Link()
	return ok && link == o.index
}

// send seals and sends the batch, or hands it over, and empties it.
func (o *outbox) send(s *shard, now transport.Time) {
	b := o.batch
	if o.link == nil {
		s.dev.lost(s, now, b.Len(), o.away)
		b.Reset()
		return
	}
	if o.loops {
		o.loop(s, now)
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
		case f.Volatile || n <= joined:
			o.sealJoined(f, f.Join(bth.ICRCLen))
		default:
			f.Rim(bth.ICRCLen)
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

// seal appends the ICRC for the addresses, the port and the identification with which
// the link will send f.
func (o *outbox) seal(f *packet.Frame) {
	state := bth.ICRCStart(o.seed(f, f.Len()), f.Header)
	for _, p := range f.Payload {
		state = bth.ICRCContinue(state, p)
	}
	if len(f.Trailer) > 0 {
		state = bth.ICRCContinue(state, f.Trailer)
	}
	appendICRC(f, state)
}

// sealJoined is seal for a frame whose bytes lie in one stretch, which takes one pass.
func (o *outbox) sealJoined(f *packet.Frame, all []byte) {
	appendICRC(f, bth.ICRCStart(o.seed(f, len(all)), all))
}

// seed is that of the ICRC of f, which is of n bytes without it.
func (o *outbox) seed(f *packet.Frame, n int) uint32 {
	return o.seeds.of(o.local, f.Path.Dst, f.SrcPort, f.ID, f.FlagsFragment, n+bth.ICRCLen)
}

func appendICRC(f *packet.Frame, state uint32) {
	if f.Seal == transport.SealRxeFlush {
		state = bth.ICRCContinue(state, f.Header) // as bth.ICRCRxeFlush
	}
	f.Trailer = bth.AppendICRC(f.Trailer, state)
}

// seeds gives the ICRC's beginning, over the IP and UDP headers, and remembers it for the peers and lengths of the
// last packets: those that follow each other mostly differ in the IPv4 identification alone.
type seeds [seedSlots]struct {
	src, dst    netip.Addr
	len         int
	port, flags uint16
	seed        uint32 // for identification 0
}

// seedSlots is a power of two. Packets of different lengths, which are multiples of four, use different ones.
const seedSlots = 16

// of returns the seed of a packet with the fields that the ICRC covers; len is that of the UDP payload with its ICRC.
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
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: flags, SrcPort: port, DstPort: packet.Port, UDPLen: udpLen}
		return h.Seed()
	}
	h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: port, DstPort: packet.Port, UDPLen: udpLen}
	return h.Seed()
}
