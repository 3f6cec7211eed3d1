package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// resource remembers a READ or an atomic so that it can be answered again
// (IBA 9.7.5.1).
type resource struct {
	op         bth.Operation
	first, end bth.PSN // the PSNs of its responses: [first, end)
	va         uint64
	length     uint64
	rkey       uint32
	region     *mr.Region
	value      uint64 // what an atomic found
	msn        uint32
	valid      bool
}

// job is a request with a resource whose responses are being sent.
type job struct {
	res    *resource
	next   bth.PSN // of the next response packet
	begun  bool    // a FIRST went out for this request
	resume bool    // go on with MIDDLE or LAST, as the peer expects of a repeated READ
	again  bool    // all of it went out before
}

// resources holds the responder resources of a queue pair, a ring of
// max_dest_rd_atomic entries, and the jobs on them, ordered by PSN. There is at
// most one job for each resource.
type resources struct {
	ring  []resource
	write int
	jobs  []job
	len   int
}

func (r *resources) reset() {
	clear(r.ring)
	r.write, r.len = 0, 0
}

// drop forgets the jobs.
func (r *resources) drop() { r.len = 0 }

func (r *resources) head() *job { return &r.jobs[0] }

func (r *resources) remove(i int) {
	copy(r.jobs[i:], r.jobs[i+1:r.len])
	r.len--
}

// claim returns the oldest resource for a new READ, or nil while its responses were
// not all sent: the peer has more outstanding than it may. If they were and are being
// repeated, the peer that sends a new READ has got them by now.
func (r *resources) claim(limit int) *resource {
	r.resize(limit)
	res := &r.ring[r.write]
	if i := r.find(res); i >= 0 {
		if !r.jobs[i].again {
			return nil
		}
		r.remove(i)
	}
	r.write = (r.write + 1) % limit
	return res
}

// resize makes room for limit resources. The newest of those there are stay, as many as
// fit, and so do their jobs; the peer must have no more outstanding than the new limit.
func (r *resources) resize(limit int) {
	if len(r.ring) == limit {
		return
	}
	ring, jobs := make([]resource, limit), make([]job, limit)
	kept := 0
	for i := range r.ring {
		old := &r.ring[(r.write+i)%len(r.ring)] // oldest first
		if i < len(r.ring)-limit || !old.valid {
			continue
		}
		ring[kept] = *old
		if at := r.find(old); at >= 0 {
			r.jobs[at].res = &ring[kept]
		}
		kept++
	}
	n := 0
	for i := range r.len {
		for k := range kept {
			if r.jobs[i].res == &ring[k] {
				jobs[n] = r.jobs[i]
				n++
			}
		}
	}
	*r = resources{ring: ring, jobs: jobs, len: n}
	if limit > 0 {
		r.write = kept % limit
	}
}

// find returns the index of the job for res, or -1.
func (r *resources) find(res *resource) int {
	for i := range r.len {
		if r.jobs[i].res == res {
			return i
		}
	}
	return -1
}

// insert adds a job at its place in PSN order.
func (r *resources) insert(j job) {
	i := r.len
	for i > 0 && j.next.Before(r.jobs[i-1].next) {
		r.jobs[i] = r.jobs[i-1]
		i--
	}
	r.jobs[i] = j
	r.len++
}

// asked reports whether a repeated request names the memory that the first one named,
// off bytes into it.
func (res *resource) asked(p *bth.Packet, off uint64) bool {
	if res.op != bth.OpReadRequest {
		return p.AtomicETH.RKey == res.rkey && p.AtomicETH.VA == res.va
	}
	return p.RETH.RKey == res.rkey && p.RETH.VA == res.va+off && uint64(p.RETH.DMALen) == res.length-off
}
