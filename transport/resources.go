package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
)

// This file keeps the requests that have a response of their own. A READ, an atomic, a FLUSH or an
// ATOMIC WRITE whose response was lost arrives again, as a duplicate. A READ can be executed again;
// an atomic must not be, so its result is stored. The number of resources is negotiated when the
// connection is made: max_dest_rd_atomic of this end is the maximum for max_rd_atomic of the peer.
// FLUSHes have resources of their own.

// resource is a responder resource: it remembers a request that has a response of its own, so
// that a duplicate can be answered (IBA 9.7.5.1).
type resource struct {
	op         bth.Operation
	first, end bth.PSN    // PSNs of its responses: [first, end)
	va         uint64     // address of the request
	length     uint64     // length of a READ in bytes, else 0
	rkey       uint32     // key of the request
	region     *mr.Region // region of a READ, nil if length is 0
	value      uint64     // original value that an atomic returns
	msn        uint32     // MSN of its responses
	sent       uint32     // number of READ responses sent at least once
	resent     uint32     // number of times that READ responses were sent again
	valid      bool       // in use
	busy       bool       // a job sends its responses
}

// job is a request whose responses are being sent. Each call of Transmit continues it where the
// last one stopped because the batch had no room for further frames.
type job struct {
	res    *resource
	from   bth.PSN // PSN of the first response of this answer
	next   bth.PSN // PSN of the next response
	begun  bool    // the FIRST response of this answer was sent
	resume bool    // continue with MIDDLE or LAST, as Linux rxe expects for a duplicate READ
	replay bool    // all responses were sent before

	replayAgain bool    // a duplicate has requested another replay after this answer
	replayFrom  bth.PSN // PSN of the first response of that replay
}

// resources are the responder resources of a queue pair and the jobs on them, in PSN order. A
// resource has at most one job.
type resources struct {
	ring    ring  // resources of READs, atomics and ATOMIC WRITEs: max_dest_rd_atomic
	flushes ring  // resources of FLUSHes, which max_dest_rd_atomic does not limit
	jobs    []job // circular buffer with room for one job per resource
	first   int   // index in jobs of the first job: that with the lowest PSN
	len     int   // number of jobs
}

// ring is a circular buffer of resources; a new request gets the oldest resource.
type ring struct {
	slots []resource
	write int // index of the oldest resource
}

// reset makes all resources free and removes all jobs.
func (r *resources) reset() {
	for _, g := range []*ring{&r.ring, &r.flushes} {
		clear(g.slots)
		g.write = 0
	}
	r.len = 0
}

// job returns job i, which must exist.
func (r *resources) job(i int) *job {
	if i += r.first; i >= len(r.jobs) {
		i -= len(r.jobs)
	}
	return &r.jobs[i]
}

// drop removes all jobs.
func (r *resources) drop() {
	for i := range r.len {
		r.job(i).res.busy = false
	}
	r.len = 0
}

// remove removes job i. The time is constant for the first job, which is the usual case.
func (r *resources) remove(i int) {
	r.job(i).res.busy = false
	for ; i > 0; i-- {
		*r.job(i) = *r.job(i - 1)
	}
	if r.first++; r.first == len(r.jobs) {
		r.first = 0
	}
	r.len--
}

// claim returns the oldest resource of g for a new request. limit is the number of resources that g
// must have. If the responses to the old request are still being sent for the first time, claim
// returns nil: the peer has more than limit requests outstanding. If they are being sent again,
// claim removes the job that sends them: the new request shows that the peer has received them,
// because a peer with at most limit requests outstanding does not repeat older ones.
func (r *resources) claim(g *ring, limit int) *resource {
	r.resize(g, limit)
	res := &g.slots[g.write]
	if i := r.find(res); i >= 0 {
		if !r.job(i).replay {
			return nil
		}
		r.remove(i)
	}
	g.write = (g.write + 1) % limit
	return res
}

// free returns how many resources claim can return in a row with this limit.
func (r *resources) free(g *ring, limit int) int {
	r.resize(g, limit)
	for n := range limit {
		if i := r.find(&g.slots[(g.write+n)%limit]); i >= 0 && !r.job(i).replay {
			return n
		}
	}
	return limit
}

// resize changes the number of resources in g to n. The newest n of the old ones remain, with their
// jobs; the peer must not have more requests outstanding than the new limit. Programs change
// max_dest_rd_atomic in SQD.
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
				r.job(at).res = &slots[kept]
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
	for i := range r.len {
		jobs[i] = *r.job(i)
	}
	r.jobs, r.first = jobs, 0
}

// at returns the resource that has a response with this PSN, or nil.
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
	if !res.busy {
		return -1
	}
	for i := range r.len {
		if r.job(i).res == res {
			return i
		}
	}
	return -1
}

// insert adds a job in PSN order. Responses must be sent in that order. A duplicate with an earlier
// PSN therefore interrupts an answer that has begun (IBA C9-110).
func (r *resources) insert(j job) {
	i := r.len
	for r.len++; i > 0 && j.next.Before(r.job(i-1).next); i-- {
		*r.job(i) = *r.job(i - 1)
	}
	*r.job(i) = j
	j.res.busy = true
}

// matches reports whether duplicate request p names the memory of the request that res stores,
// beginning off bytes into its range. A repeated READ may name only the end of the range, with the
// PSN of the first response to that end (IBA 9.4.4).
func (res *resource) matches(p *bth.Packet, off uint64) bool {
	switch res.op {
	case bth.OpCmpSwap, bth.OpFetchAdd:
		return p.AtomicETH.RKey == res.rkey && p.AtomicETH.VA == res.va
	case bth.OpAtomicWrite, bth.OpFlush:
		// The duplicates of Linux rxe have address 0.
		return p.RETH.RKey == res.rkey && (p.RETH.VA == res.va || p.RETH.VA == 0)
	}
	return p.RETH.RKey == res.rkey && p.RETH.VA == res.va+off && uint64(p.RETH.DMALen) == res.length-off
}

// invalidated reports whether the memory of a READ was deregistered or invalidated.
func (res *resource) invalidated() bool { return res.length > 0 && !res.region.Valid() }

// A duplicate READ request of about 60 bytes can cause a response of 2 GiB, so the cost of
// duplicates is limited. For a READ of n responses, up to maxResent × (n + shortReadPackets)
// packets are sent again; after holdAfterResent × (n + shortReadPackets) of them, the rest may wait
// for other traffic. A requester with retry_cnt 7 that receives no response requests the whole
// response seven times more. A requester that loses 1 % of the responses sends one request for each
// loss, and each is answered from the lost response on. Where packets are reordered at random, each
// response may need several requests.
const (
	holdAfterResent  = 2
	maxResent        = 16
	shortReadPackets = 64
)

// oftenReplayed reports whether so many responses of a READ were sent again that the rest may wait
// for other traffic (see [RC.HoldReplays]).
func (res *resource) oftenReplayed() bool { return res.wasResent(holdAfterResent) }

// replayLimitReached reports whether the responses of a READ are not sent again any more.
func (res *resource) replayLimitReached() bool { return res.wasResent(maxResent) }

// wasResent reports whether times × (n + shortReadPackets) packets of a READ of n responses were
// sent again.
func (res *resource) wasResent(times uint64) bool {
	return uint64(res.resent) >= times*uint64(distance(res.first, res.end)+shortReadPackets)
}

// countSent counts response k as sent or as sent again; the first response has k = 0.
func (res *resource) countSent(k uint32) {
	if k < res.sent {
		res.resent++
	} else {
		res.sent = k + 1
	}
}

// alreadySent reports whether a duplicate with this PSN requests a response that this answer has
// already sent, and that may have been lost. A duplicate of a response still to be sent changes
// nothing.
func (j *job) alreadySent(psn bth.PSN) bool {
	return j.next != j.from && distance(j.res.first, psn) < distance(j.res.first, j.next)
}

// repeat handles a duplicate request with PSN psn while j answers the same READ. It restarts j at
// psn if the requester has received the beginning of the answer and misses what was sent since. A
// copy of the request that j answers, or of an earlier request, does not interrupt j, because
// frequent copies would prevent its end: the copy is answered when j is complete. resume is as in
// job.
func (j *job) repeat(psn bth.PSN, resume bool) {
	first := j.res.first
	switch {
	case distance(first, psn) > distance(first, j.from):
		j.startAt(psn, resume)
	case !j.replayAgain || distance(first, psn) < distance(first, j.replayFrom):
		j.replayAgain, j.replayFrom = true, psn
	}
}

// startAt makes psn the PSN of the next response of j, which is the first of its answer. resume is
// as in job.
func (j *job) startAt(psn bth.PSN, resume bool) {
	j.from, j.next, j.begun, j.resume = psn, psn, false, resume
}
