package transport

import (
	"github.com/gorxe/gorxe/mr"
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
