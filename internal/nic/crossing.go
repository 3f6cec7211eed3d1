package nic

import (
	"net/netip"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

// crossing has the frames that queue pairs of other shards send to those of one shard by loopback, until the shard's
// pump receives them. They are copied: what a frame borrows is the sender's, and the receiver does not have the
// sender's lock. What does not fit is dropped, as a socket does whose buffer is full.
type crossing struct {
	mu      sync.Mutex
	waiting crossed // guarded by mu
	taken   crossed // the pump's, until it takes the next
}

// crossed is a list of frames, oldest first.
type crossed struct {
	frames []crossedFrame
	data   []byte
}

// crossedFrame is the header and the payload of a frame, as data[begin:end], without padding and ICRC.
type crossedFrame struct {
	begin, end int
	from       bth.QPN    // the queue pair that sent it
	src        netip.Addr // and the address that it sent it from
	to         int        // entry of the GID table with the address that it was sent to
}

const (
	// crossingBytes bounds what waits for a shard, in bytes.
	crossingBytes = 4 << 20
	// copyAlign is the alignment at which long copies of payload are fast, in bytes.
	copyAlign = 16
)

// put appends a frame whose payload has one piece at most. It is false if there is no room.
func (c *crossing) put(f *packet.Frame, from bth.QPN, src netip.Addr, to int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &c.waiting
	header := len(f.Header)
	// The payload begins at a multiple.
	begin := (len(w.data)+header+copyAlign-1)/copyAlign*copyAlign - header
	if begin+f.Len() > crossingBytes {
		return false
	}
	w.data = append(w.data, padding[:begin-len(w.data)]...)
	w.data = append(w.data, f.Header...)
	for _, p := range f.Payload {
		w.data = append(w.data, p...)
	}
	w.frames = append(w.frames, crossedFrame{begin: begin, end: len(w.data), from: from, src: src, to: to})
	return true
}

var padding [copyAlign]byte

// take returns what waits. It stays as it is until the next take.
func (c *crossing) take() *crossed {
	c.taken.frames, c.taken.data = c.taken.frames[:0], c.taken.data[:0]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.taken = c.taken, c.waiting
	return &c.taken
}

// cross gives frame i of the batch, whose payload has one piece at most, to the shard of the queue pair that it is for,
// with the entry of the GID table that it is sent to.
func (o *outbox) cross(s, to *shard, i, index int) {
	if !to.crossing.put(o.batch.At(i), o.senders[i], o.local, index) {
		s.count.drops[dropBusy]++
		return
	}
	to.wakePump()
}

// receiveCrossed receives what queue pairs of other shards have sent. The lock is held, by the pump.
func (s *shard) receiveCrossed() {
	if !s.several || !s.dev.loopback {
		return
	}
	c := s.crossing.take()
	now := s.dev.now()
	for i := range c.frames {
		if i%handPackets == handPackets-1 && s.dev.now()-now > handTime {
			now = s.giveWay(now)
		}
		if s.closed {
			return
		}
		f := &c.frames[i]
		s.count.frames++
		s.count.bytes += uint64(f.end - f.begin + bth.ICRCLen)
		a := &s.looped
		a.src = f.src
		if err := a.packet.DecodeParts(c.data[f.begin:f.end], nil); err != nil {
			s.count.malformed[bth.ReasonOf(err)]++
			continue
		}
		to := s.loops[f.to]
		if to.link == nil { // it was removed meanwhile
			s.dev.lost(s, now, 1, to.away)
			continue
		}
		s.receiveFrom(now, f.from, to, a)
	}
	s.gather.Settle()
}

// receiveFrom gives a to its queue pair, if that is connected to the one that sent it.
func (s *shard) receiveFrom(now transport.Time, from bth.QPN, to *outbox, a *arrival) {
	if q := s.qps.Get(a.packet.DestQP); q != nil && q.attr.Attr.DestQPN != from {
		s.count.drops[dropStranger]++
		return
	}
	s.receive(now, to, a)
}
