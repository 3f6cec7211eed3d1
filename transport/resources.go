package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// resource remembers a request that has a response of its own, so that it can be answered
// again (IBA 9.7.5.1).
type resource struct {
	op         bth.Operation
	first, end bth.PSN // the PSNs of its responses: [first, end)
	va         uint64
	length     uint64
	rkey       uint32
	region     *mr.Region
	value      uint64 // what an atomic found
	msn        uint32
	sent       uint32 // response packets of a READ that were sent at least once
	resent     uint32 // and how many were sent again
	valid      bool
}

// job is a request with a resource whose responses are being sent.
type job struct {
	res    *resource
	from   bth.PSN // of the first response packet of this answer
	next   bth.PSN // of the next response packet
	begun  bool    // a FIRST went out for this request
	resume bool    // go on with MIDDLE or LAST, as the peer expects of a repeated READ
	again  bool    // all of it went out before

	repeated   bool    // when it is done it is to be done again
	repeatFrom bth.PSN // from here on
}

// resources holds the responder resources of a queue pair and the jobs on them, ordered by
// PSN. There is at most one job for each resource.
type resources struct {
	ring    ring // of max_dest_rd_atomic entries
	flushes ring // of FLUSH, which max_dest_rd_atomic does not limit
	jobs    []job
	len     int
}

// ring is a set of resources of which the oldest is taken for the next request.
type ring struct {
	slots []resource
	write int
}

func (r *resources) reset() {
	for _, g := range []*ring{&r.ring, &r.flushes} {
		clear(g.slots)
		g.write = 0
	}
	r.len = 0
}

// drop forgets the jobs.
func (r *resources) drop() { r.len = 0 }

func (r *resources) head() *job { return &r.jobs[0] }

func (r *resources) remove(i int) {
	copy(r.jobs[i:], r.jobs[i+1:r.len])
	r.len--
}

// claim returns the oldest resource of g, of limit in all, for a new request, or nil while
// its responses were not all sent: the peer has more outstanding than it may. If they were
// and are being repeated, the peer that sends a new request has got them by now.
func (r *resources) claim(g *ring, limit int) *resource {
	r.resize(g, limit)
	res := &g.slots[g.write]
	if i := r.find(res); i >= 0 {
		if !r.jobs[i].again {
			return nil
		}
		r.remove(i)
	}
	g.write = (g.write + 1) % limit
	return res
}

// free returns how many resources claim gives one after the other.
func (r *resources) free(g *ring, limit int) int {
	r.resize(g, limit)
	for n := range limit {
		if i := r.find(&g.slots[(g.write+n)%limit]); i >= 0 && !r.jobs[i].again {
			return n
		}
	}
	return limit
}

// resize makes room for n resources in g. The newest of those there are stay, as many as
// fit, and so do their jobs; the peer must have no more outstanding than the new limit.
func (r *resources) resize(g *ring, n int) {
	if len(g.slots) == n {
		return
	}
	slots, kept := make([]resource, n), 0
	for i := range g.slots {
		old := &g.slots[(g.write+i)%len(g.slots)] // oldest first
		at := r.find(old)
		switch {
		case i >= len(g.slots)-n && old.valid:
			slots[kept] = *old
			if at >= 0 {
				r.jobs[at].res = &slots[kept]
			}
			kept++
		case at >= 0:
			r.remove(at)
		}
	}
	*g = ring{slots: slots}
	if n > 0 {
		g.write = kept % n
	}
	jobs := make([]job, len(r.ring.slots)+len(r.flushes.slots))
	copy(jobs, r.jobs[:r.len])
	r.jobs = jobs
}

// at returns the resource that the response with this PSN belongs to, or nil.
func (r *resources) at(psn bth.PSN) *resource {
	for _, slots := range [...][]resource{r.ring.slots, r.flushes.slots} {
		for i := range slots {
			res := &slots[i]
			if res.valid && distance(res.first, psn) < distance(res.first, res.end) {
				return res
			}
		}
	}
	return nil
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
	switch res.op {
	case bth.OpCmpSwap, bth.OpFetchAdd:
		return p.AtomicETH.RKey == res.rkey && p.AtomicETH.VA == res.va
	case bth.OpAtomicWrite, bth.OpFlush:
		// Linux rxe repeats them with address 0.
		return p.RETH.RKey == res.rkey && (p.RETH.VA == res.va || p.RETH.VA == 0)
	}
	return p.RETH.RKey == res.rkey && p.RETH.VA == res.va+off && uint64(p.RETH.DMALen) == res.length-off
}

// gone reports whether the memory of a READ was taken away.
func (res *resource) gone() bool { return res.length > 0 && !res.region.Valid() }

// A duplicate READ of some 60 bytes can have an answer of 2 GiB, so what duplicates may cost is
// bounded: the responses of a READ are sent again maxResent times, and those of a short one some
// more. A requester whose retry_cnt is 7 and that gets nothing through asks seven times more; one
// that loses a response in a hundred asks once for each loss and gets a part each time. Where
// packets overtake each other at random each response may take several requests.
const (
	oftenResent = 2
	maxResent   = 16
	shortReads  = 64 // packets
)

// often reports whether so much of a READ was sent again that the rest may wait for what others send.
func (res *resource) often() bool { return res.wasResent(oftenResent) }

// exhausted reports whether no more of a READ is sent again.
func (res *resource) exhausted() bool { return res.wasResent(maxResent) }

func (res *resource) wasResent(times uint64) bool {
	return uint64(res.resent) >= times*uint64(distance(res.first, res.end)+shortReads)
}

// sending counts the response packet with index k, 0 being the first of the READ.
func (res *resource) sending(k uint32) {
	if k < res.sent {
		res.resent++
	} else {
		res.sent = k + 1
	}
}

// missed reports whether a duplicate with this PSN asks for a response that was sent in this
// answer, and so may have been lost. A duplicate of what is still to be sent changes nothing.
func (j *job) missed(psn bth.PSN) bool {
	return j.next != j.from && distance(j.res.first, psn) < distance(j.res.first, j.next)
}

// repeat starts j over at psn where the requester has got what j began with and misses what was
// sent since. A copy of the request that j answers, or of one before it, does not interrupt j, or
// copies that come fast enough would keep it from its end: it is answered when j is done.
func (j *job) repeat(psn bth.PSN, resume bool) {
	first := j.res.first
	switch {
	case distance(first, psn) > distance(first, j.from):
		j.startAt(psn, resume)
	case !j.repeated || distance(first, psn) < distance(first, j.repeatFrom):
		j.repeated, j.repeatFrom = true, psn
	}
}

// startAt makes psn the next response packet of j, and the first of its answer.
func (j *job) startAt(psn bth.PSN, resume bool) {
	j.from, j.next, j.begun, j.resume = psn, psn, false, resume
}
