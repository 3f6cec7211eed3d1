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

// scatter is [Gather.scatter] of a message of one packet.
func scatter(sg []qp.Segment, off uint64, b []byte) mr.Fault {
	return (*Gather)(nil).scatter(nil, 0, sg, off, b, true)
}
