package transport

import (
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// payload hangs n bytes from offset off of w's message onto f and returns false when a region is
// gone. ahead is n and the bytes behind them that the next packets of this call can carry.
func (x *transmission) payload(f *packet.Frame, w *qp.SendWQE, off, n, ahead uint64) bool {
	if w.Flags&qp.Inline == 0 {
		return x.gather(f, w.SG, off, n, ahead)
	}
	if n > 0 {
		f.Payload = append(f.Payload, w.Inline[off:off+n])
	}
	return true
}

// gather hangs n bytes from offset off of the message onto f, without a copy where
// the memory is addressable. It fails when a region is gone.
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

// attach hangs n bytes of a region at addr onto f.
func (x *transmission) attach(f *packet.Frame, region *mr.Region, addr, n, ahead uint64) bool {
	if region == nil || !region.Valid() {
		return false
	}
	b := region.View(addr, n)
	if b == nil {
		b = x.stage.bytes(region, addr, n)
	}
	if b == nil {
		b = x.stage.fill(f, region, addr, n, ahead)
	}
	if b == nil {
		return false
	}
	f.Payload = append(f.Payload, b)
	return true
}

// maxStage is the largest read, in bytes, of memory that this process cannot reach by pointer. One
// call costs as much as copying some thousand bytes.
const maxStage = 64 << 10

// stage is a staging buffer: bytes of such memory, read for packets of one call of Transmit.
type stage struct {
	region *mr.Region
	addr   uint64
	read   []byte
}

// bytes returns n bytes of the region at addr, nil if the stage does not hold them.
func (s *stage) bytes(region *mr.Region, addr, n uint64) []byte {
	off, have := addr-s.addr, uint64(len(s.read)) // off is huge where addr is the lower
	if s.region != region || off >= have || n > have-off {
		return nil
	}
	return s.read[off : off+n : off+n]
}

// fill reads ahead bytes of the region at addr, at most maxStage of them and at least n, or n if that
// fails, and returns the first n. It returns nil if even those cannot be read.
func (s *stage) fill(f *packet.Frame, region *mr.Region, addr, n, ahead uint64) []byte {
	b := f.Alloc(int(max(n, min(ahead, maxStage))))
	if region.Read(b, addr) != nil {
		if b = b[:n]; region.Read(b, addr) != nil {
			return nil
		}
	}
	*s = stage{region, addr, b}
	return b[:n:n]
}

// resolve looks up the region of every segment and checks it. Segments of length
// zero need no key (IBA 10.6.7.2.3).
func resolve(keys *mr.Table, pd *mr.PD, sg []qp.Segment, need mr.Access) mr.Fault {
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

// scatter is [Gather.scatter] of a message of one packet.
func scatter(sg []qp.Segment, off uint64, b []byte) mr.Fault {
	return (*Gather)(nil).scatter(nil, 0, sg, off, b, true)
}
