package nic

import (
	"errors"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

// Two queue pairs of one device that are connected to each other need no link. With
// Config.Loopback and both in one shard, the goroutine that sends passes the frames of one queue
// pair to the machine of the other, in order and without an intermediate copy: payload is copied
// from the sender's region, or the buffer that it was read into, to the receiver's. Frames for
// another shard are copied once and left to the pump of that shard (package crossing). Loopback
// frames have no ICRC.
//
// A packet does not contain its source QPN, so a queue pair accepts packets of every queue pair
// at the address of its peer when they arrive by a link. By loopback the sender is known and must
// be the peer.
//
// Machines work as they do over a link, so a queue pair may use loopback while its peer uses the
// link. That happens if the address of one queue pair was added to the device after the other queue
// pair was connected.

var errNotHere = errors.New("the address of the peer is no longer one of this device")

// maxLoopFlush limits the time that the lock is held for one flush of loopback outboxes, because
// the memory of either program may be slow.
const maxLoopFlush = transport.Time(time.Millisecond)

// outboxFor returns the outbox of s for entry index of the GID table and a queue pair whose peer is
// at dst: the loopback outbox if dst is an address of the device and the link permits loopback,
// otherwise the outbox of the link.
func (s *shard) outboxFor(index int, dst netip.Addr) *outbox {
	if s.dev.loopback && packet.LoopsBack(s.out[index].link) {
		if s.loopbackAt(dst.WithZone("")) != nil {
			return s.loops[index]
		}
	}
	return s.out[index]
}

// loopbackAt returns the loopback outbox of an address, nil if the device does not have it now.
func (s *shard) loopbackAt(addr netip.Addr) *outbox {
	for i, g := range s.dev.gids {
		if g.local == addr && g.link != nil {
			return s.loops[i]
		}
	}
	return nil
}

// flushLoops is flushSome for the loopback outboxes. Delivery from one outbox can make queue pairs
// of other outboxes ready, so all outboxes share one budget of bytes.
func (s *shard) flushLoops(now transport.Time, bytes int, all bool, maxTime transport.Time) {
	maxTime = min(maxTime, maxLoopFlush)
	for i, idle, at := 0, 0, now; bytes > 0 && idle < len(s.loops) && at-now <= maxTime; i++ {
		o := s.loops[i%len(s.loops)]
		if !o.has(all) {
			idle++
			continue
		}
		idle = 0
		bytes -= o.transmit(s, at, bytes, all)
		at = s.dev.now()
	}
}

// deliverLocally passes the frames of the batch to their queue pairs and empties the batch, which
// must not be empty when it is called. The GID of the outbox must have a link.
func (o *outbox) deliverLocally(s *shard, now transport.Time) {
	b := o.batch
	if packet.SeesLoops(o.link) {
		o.traceLooped(b)
	}
	var dst netip.Addr
	var to *outbox
	for i := range b.Len() {
		f := b.At(i)
		if f.Path.Dst != dst {
			dst = f.Path.Dst
			to = s.loopbackAt(dst.WithZone(""))
		}
		n := f.Len() + bth.ICRCLen
		s.count.txFrames++
		s.count.txBytes += uint64(n)
		if to == nil || s.closed {
			s.dev.lost(s, now, 1, errNotHere)
			continue
		}
		if at := s.dev.shardOf(o.ends[i].to); at != s {
			o.queueForShard(s, at, i, to.index)
			continue
		}
		s.count.frames++
		s.count.bytes += uint64(n)
		s.receiveLooped(now, o, to, i)
	}
	s.storeBatch.Settle()
	b.Reset()
}

// receiveLooped passes frame i of o's batch to its queue pair; to is the outbox of the destination
// address.
func (s *shard) receiveLooped(now transport.Time, o, to *outbox, i int) {
	a, b := &s.loopScratch, o.batch
	a.src = o.local
	if !s.decodeLooped(a, b.At(i)) {
		return
	}
	q := s.qps.Get(a.packet.DestQP)
	if q != nil && q.keyed != nil && q.keyed.Invalidates(&a.packet) {
		// Payload must not be borrowed from a region while a key is removed.
		for k := i; k < b.Len(); k++ {
			b.At(k).Flatten(0)
		}
		if !s.decodeLooped(a, b.At(i)) {
			return
		}
	}
	s.receiveFrom(now, o.ends[i].from, to, a)
}

// decodeLooped decodes f, a frame of this device without ICRC, into a, which borrows the payload.
// It returns false, and counts the frame, if f is malformed.
func (s *shard) decodeLooped(a *arrival, f *packet.Frame) bool {
	if len(f.Payload) > 1 {
		f.Flatten(0)
	}
	var payload []byte
	if len(f.Payload) == 1 {
		payload = f.Payload[0]
	}
	err := a.packet.DecodeParts(f.Header, payload)
	if err != nil {
		s.count.malformed[bth.ReasonOf(err)]++
	}
	return err == nil
}

// traceLooped passes the frames of b to a trace on the link, as they would be on the wire.
func (o *outbox) traceLooped(b *packet.Batch) {
	for i := range b.Len() {
		f := b.At(i)
		f.SrcPort, f.ID, f.FlagsFragment = packet.Port, 0, 0
		if o.local.Is4() {
			f.FlagsFragment = packet.DontFragment
		}
		pad := len(f.Trailer)
		o.seal(f)
		packet.SeeLooped(o.link, f)
		f.Trailer = f.Trailer[:pad]
	}
}

// queueForShard queues frame i of the batch for the shard of its destination queue pair. index is
// the GID table entry of the destination address.
func (o *outbox) queueForShard(s, to *shard, i, index int) {
	if !to.crossing.Put(o.batch.At(i), o.ends[i].from, o.local, index) {
		s.count.drops[dropBusy]++
		return
	}
	to.wakePump()
}

// receiveCrossed receives the frames from other shards. The lock is held, by the pump.
func (s *shard) receiveCrossed() {
	if !s.multi || !s.dev.loopback || s.closed {
		return
	}
	frames := s.crossing.Take()
	now := s.dev.now()
	for i := range frames.Len() {
		if s.heldLong(i, now) {
			if now = s.yieldLock(now); s.closed {
				return
			}
		}
		f, data := frames.At(i)
		s.count.frames++
		s.count.bytes += uint64(len(data) + int(bth.PadFor(len(data))) + bth.ICRCLen)
		a := &s.loopScratch
		a.src = f.Src
		if err := a.packet.DecodeParts(data, nil); err != nil {
			s.count.malformed[bth.ReasonOf(err)]++
			continue
		}
		to := s.loops[f.To]
		if to.link == nil { // the link was removed meanwhile
			s.dev.lost(s, now, 1, to.errAbsent)
			continue
		}
		s.receiveFrom(now, f.From, to, a)
	}
	s.storeBatch.Settle()
}

// receiveFrom passes a to its queue pair if the sender, from, is the peer of that queue pair.
func (s *shard) receiveFrom(now transport.Time, from bth.QPN, to *outbox, a *arrival) {
	if q := s.qps.Get(a.packet.DestQP); q != nil && q.attr.Attr.DestQPN != from {
		s.count.drops[dropStranger]++
		return
	}
	s.receive(now, to, a)
}
