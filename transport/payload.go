package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// This file provides the payload of outgoing packets. Memory that this process can access by
// pointer is borrowed without a copy. Other memory is read into a staging buffer, with one call for
// as many packets as possible.

// payload appends n bytes at offset off of w's message to f. It returns false if a region was
// deregistered or cannot be read. ahead is the number of bytes, n included, that this packet and
// the next packets of this call can carry.
func (x *transmission) payload(f *packet.Frame, w *qp.SendWQE, off, n, ahead uint64) bool {
	if w.Flags&qp.Inline == 0 {
		return x.gather(f, w.SG, off, n, ahead)
	}
	if n > 0 {
		f.Payload = append(f.Payload, w.Inline[off:off+n])
	}
	return true
}

// gather appends n bytes at offset off of the message to f, without a copy if this process can
// access the memory by pointer. It returns false if a region was deregistered or cannot be read.
// ahead is as in payload.
func (x *transmission) gather(f *packet.Frame, sg []qp.Segment, off, n, ahead uint64) bool {
	for i := range sg {
		if n == 0 {
			return true
		}
		s := &sg[i]
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		rest := uint64(s.Length) - off
		take := min(rest, n)
		if !x.attach(f, s.Region, s.Addr+off, take, min(rest, ahead)) {
			return false
		}
		n -= take
		ahead -= take
		off = 0
	}
	return n == 0
}

// attach appends n bytes of a region at addr to f. It returns false if the region cannot be read or
// was deregistered, which may happen between posting and sending. ahead is as in payload.
func (x *transmission) attach(f *packet.Frame, region *mr.Region, addr, n, ahead uint64) bool {
	if region == nil || !region.Valid() {
		return false
	}
	// Memory with a pointer is borrowed. For other memory, an earlier read of this call may contain
	// the bytes.
	b := region.View(addr, n)
	if b == nil {
		b = x.stage.bytes(region, addr, n)
	}
	if b == nil {
		b = x.stage.fill(f, region, addr, n, max(ahead, x.readAhead()))
	}
	if b == nil {
		return false
	}
	f.Payload = append(f.Payload, b)
	return true
}

// maxStage is the maximum length in bytes of one read of memory that this process cannot access by
// pointer: 64 KiB. One call costs as much as copying some thousand bytes.
const maxStage = 64 << 10

// stage is a staging buffer: bytes of memory that this process cannot access by pointer, read for
// the packets of one call of Transmit.
type stage struct {
	region *mr.Region
	addr   uint64 // address of the first byte of read in region
	data   []byte // content of region from addr on
}

// bytes returns n bytes of the region at addr, or nil if the stage does not contain them.
func (s *stage) bytes(region *mr.Region, addr, n uint64) []byte {
	off, have := addr-s.addr, uint64(len(s.data)) // off wraps to a huge value if addr < s.addr
	if s.region != region || off >= have || n > have-off {
		return nil
	}
	return s.data[off : off+n : off+n]
}

// maxReadAhead is the maximum length in bytes of one read for several messages. Up to about a page,
// reading the bytes between the messages costs nothing.
const maxReadAhead = 4 << 10

// An extent is a range of memory that is read in one call, with the messages in it.
type extent struct {
	first, end uint64 // first address, and address behind the last
}

// extend extends e by n bytes at addr. It returns false if e would then exceed maxReadAhead or if
// addr is before e.
func (e *extent) extend(addr, n uint64) bool {
	off := addr - e.first // wraps to a huge value if addr < e.first
	if off > maxReadAhead || n > maxReadAhead-off {
		return false
	}
	e.end = max(e.end, addr+n)
	return true
}

// readSource is the message that payload is read from: work request number index of sends, or the
// READ of the first job in reads. The zero value means that only the message itself is read.
type readSource struct {
	sends *qp.SendQueue
	index uint32
	reads *resources
}

// readAhead returns how many bytes to read, from the first byte of the message on, so that the read
// also contains the one-packet messages that this call may send next. 0 means that only the message
// itself is read. These messages were posted, or requested, before this call, so their buffers do
// not change during the call. A message of more than one packet does not need this: ahead of attach
// covers the rest of it.
func (x *transmission) readAhead() uint64 {
	switch {
	case x.source.sends != nil:
		return x.readAheadSends()
	case x.source.reads != nil:
		return x.readAheadReads()
	}
	return 0
}

// readAheadSends is readAhead for the requests in the send queue.
func (x *transmission) readAheadSends() uint64 {
	sq := x.source.sends
	key, e, ok := x.singleExtent(sq.At(x.source.index))
	if !ok {
		return 0
	}
	for i, left := x.source.index+1, x.framesLeft; left > 0 && i != sq.Tail(); i, left = i+1, left-1 {
		k, next, ok := x.singleExtent(sq.At(i))
		if !ok || k != key || !e.extend(next.first, next.end-next.first) {
			break
		}
	}
	return e.end - e.first
}

// readAheadReads is readAhead for the READs that the responder answers.
func (x *transmission) readAheadReads() uint64 {
	r, mtu := x.source.reads, uint64(x.core.mtu)
	res := r.job(0).res
	if res.length > mtu {
		return 0
	}
	e := extent{res.va, res.va + res.length}
	for i := 1; i < min(r.len, x.framesLeft+1); i++ {
		next := r.job(i).res
		if next.op != bth.OpReadRequest || next.region != res.region || next.length > mtu ||
			!e.extend(next.va, next.length) {
			break
		}
	}
	return e.end - e.first
}

// singleExtent returns the local key and the location of the data of w; ok is false unless the data
// is one segment and is sent in one packet.
func (x *transmission) singleExtent(w *qp.SendWQE) (key uint32, e extent, ok bool) {
	if len(w.SG) != 1 || w.Length > uint64(x.core.mtu) || w.Flags&(qp.Inline|qp.Fence) != 0 ||
		requestOps[w.Opcode] == nil {
		return 0, e, false
	}
	s := &w.SG[0]
	return s.LKey, extent{s.Addr, s.Addr + uint64(s.Length)}, true
}

// fill reads ahead bytes of the region at addr, at least n and at most maxStage, and returns the
// first n. If the read fails, fill reads only n bytes; if that fails too, it returns nil. f owns
// the memory.
func (s *stage) fill(f *packet.Frame, region *mr.Region, addr, n, ahead uint64) []byte {
	b := f.Alloc(int(max(n, min(ahead, maxStage))))
	// The bytes ahead may lie in a page that the program has unmapped; those of this packet must be
	// readable.
	if region.Read(b, addr) != nil {
		if b = b[:n]; region.Read(b, addr) != nil {
			return nil
		}
	}
	*s = stage{region, addr, b}
	return b[:n:n]
}

// resolve looks up the region of every segment and checks access. Segments of length 0 need no key
// (IBA 10.6.7.2.3). A region must belong to pd, contain the segment and grant the access right
// need; need is 0 for reading, which needs no right.
func resolve(keys *mr.Finder, pd *mr.PD, sg []qp.Segment, need mr.Access) mr.Fault {
	for i := range sg {
		s := &sg[i]
		if s.Length == 0 {
			continue
		}
		s.Region = keys.Lookup(s.LKey)
		if s.Region == nil {
			return mr.BadKey
		}
		if f := s.Region.Check(pd, s.Addr, uint64(s.Length), need); f != mr.OK {
			return f
		}
	}
	return mr.OK
}

// scatter is [StoreBatch.scatter] for a message of one packet, which is stored at once.
func scatter(sg []qp.Segment, off uint64, b []byte) mr.Fault {
	return (*StoreBatch)(nil).scatter(nil, 0, sg, off, b, true)
}
