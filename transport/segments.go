package transport

import (
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

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

// payload hangs n bytes from offset off of w's message onto f; false when a region is
// gone.
func payload(f *packet.Frame, w *qp.SendWQE, off, n uint64) bool {
	if w.Flags&qp.Inline == 0 {
		return gather(f, w.SG, off, n)
	}
	if n > 0 {
		f.Payload = append(f.Payload, w.Inline[off:off+n])
	}
	return true
}

// gather hangs n bytes from offset off of the message onto f, without a copy where
// the memory is addressable. It fails when a region is gone.
func gather(f *packet.Frame, sg []qp.Segment, off, n uint64) bool {
	for i := range sg {
		if n == 0 {
			return true
		}
		s := &sg[i]
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		take := min(uint64(s.Length)-off, n)
		if !attach(f, s.Region, s.Addr+off, take) {
			return false
		}
		n -= take
		off = 0
	}
	return n == 0
}

// attach hangs n bytes of a region at addr onto f.
func attach(f *packet.Frame, region *mr.Region, addr, n uint64) bool {
	if region == nil || !region.Valid() {
		return false
	}
	if b := region.View(addr, n); b != nil {
		f.Payload = append(f.Payload, b)
		return true
	}
	b := f.Alloc(int(n))
	if region.Read(b, addr) != nil {
		return false
	}
	f.Payload = append(f.Payload, b)
	return true
}

// scatter copies b to offset off of the message described by sg. Whose memory that is
// learns of it from a completion, so nothing is said of the order in which bytes become
// visible, and no byte beside them is touched.
func scatter(sg []qp.Segment, off uint64, b []byte) mr.Fault {
	for i := range sg {
		if len(b) == 0 {
			return mr.OK
		}
		s := &sg[i]
		if off >= uint64(s.Length) {
			off -= uint64(s.Length)
			continue
		}
		take := min(uint64(s.Length)-off, uint64(len(b)))
		if s.Region == nil || !s.Region.Valid() {
			return mr.Gone
		}
		if s.Region.Write(s.Addr+off, b[:take]) != nil {
			return mr.Gone
		}
		b = b[take:]
		off = 0
	}
	if len(b) > 0 {
		return mr.OutOfBounds
	}
	return mr.OK
}

// store writes the payload of an RDMA WRITE into region at addr. final means that it is
// the message's end, whose last bytes become visible last: programs poll for them.
func store(region *mr.Region, addr uint64, b []byte, final bool) error {
	if final {
		return region.WriteFinal(addr, b)
	}
	return region.Write(addr, b)
}
