package transport

import (
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// payload hangs n bytes from offset off of w's message onto f; false when a region is gone. The packets
// that follow may take as many bytes more as ahead is beyond n.
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
		if b = x.stage.bytes(region, addr, n); b == nil {
			if b = x.stage.fill(f, region, addr, n, ahead); b == nil {
				return false
			}
		}
	}
	f.Payload = append(f.Payload, b)
	return true
}

// maxStage is how many bytes are read of memory at a time that this process cannot reach by pointer: a
// call costs as much as some thousand bytes.
const maxStage = 64 << 10

// stage is what was read of such memory for the packets of one batch.
type stage struct {
	region *mr.Region
	addr   uint64
	read   []byte
}

// bytes returns n bytes of the region at addr, nil if they were not read.
func (s *stage) bytes(region *mr.Region, addr, n uint64) []byte {
	off, have := addr-s.addr, uint64(len(s.read)) // off is huge where addr is the lower
	if s.region != region || off >= have || n > have-off {
		return nil
	}
	return s.read[off : off+n : off+n]
}

// fill reads ahead bytes of the region at addr, or as many as go into a stage, and returns the first n of
// them: those alone are read if the others cannot be. nil means that not even those can.
func (s *stage) fill(f *packet.Frame, region *mr.Region, addr, n, ahead uint64) []byte {
	if ahead = min(ahead, max(n, maxStage)); ahead > n {
		if b := f.Alloc(int(ahead)); region.Read(b, addr) == nil {
			*s = stage{region, addr, b}
			return b[:n:n]
		}
	}
	b := f.Alloc(int(n))
	if region.Read(b, addr) != nil {
		return nil
	}
	return b
}
