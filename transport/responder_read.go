package transport

import (
	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// resource remembers a READ so that it can be answered again (IBA 9.7.5.1.3).
type resource struct {
	first, end bth.PSN // the PSNs of its responses: [first, end)
	va         uint64
	length     uint64
	rkey       uint32
	region     *mr.Region
	msn        uint32
	valid      bool
}

// job is a READ whose responses are being sent.
type job struct {
	res    *resource
	next   bth.PSN // of the next response packet
	begun  bool    // a FIRST went out for this request
	resume bool    // go on with MIDDLE or LAST, as the peer expects of a repeated READ
	again  bool    // all of it went out before
}

// reads holds the responder resources of a queue pair, a ring of
// max_dest_rd_atomic entries, and the jobs on them, ordered by PSN. There is at
// most one job for each resource.
type reads struct {
	ring  []resource
	write int
	jobs  []job
	len   int
}

func (r *reads) reset() {
	clear(r.ring)
	r.write, r.len = 0, 0
}

// drop forgets the jobs.
func (r *reads) drop() { r.len = 0 }

func (r *reads) head() *job { return &r.jobs[0] }

func (r *reads) remove(i int) {
	copy(r.jobs[i:], r.jobs[i+1:r.len])
	r.len--
}

// claim returns the oldest resource for a new READ, or nil while its responses were
// not all sent: the peer has more outstanding than it may. If they were and are being
// repeated, the peer that sends a new READ has got them by now.
func (r *reads) claim(limit int) *resource {
	if len(r.ring) != limit {
		r.ring = make([]resource, limit)
		r.jobs = make([]job, limit)
		r.write, r.len = 0, 0
	}
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

// find returns the index of the job for res, or -1.
func (r *reads) find(res *resource) int {
	for i := range r.len {
		if r.jobs[i].res == res {
			return i
		}
	}
	return -1
}

// insert adds a job at its place in PSN order.
func (r *reads) insert(j job) {
	i := r.len
	for i > 0 && j.next.Before(r.jobs[i-1].next) {
		r.jobs[i] = r.jobs[i-1]
		i--
	}
	r.jobs[i] = j
	r.len++
}

// takeRead accepts a READ request: checks it, gives it a resource and its PSNs.
func (c *RC) takeRead(p *bth.Packet) Verdict {
	r := &c.rsp
	limit := int(c.qp.Attr.MaxDestRdAtomic)
	if c.qp.Attr.Access&mr.RemoteRead == 0 || limit == 0 || uint64(p.RETH.DMALen) > maxMessage {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	var region *mr.Region
	if p.RETH.DMALen > 0 {
		if region = c.reach(p.RETH, mr.RemoteRead); region == nil {
			return c.refuse(bth.NakRemoteAccess, qp.WCSuccess)
		}
	}
	res := r.reads.claim(limit)
	if res == nil {
		return c.refuse(bth.NakInvalidRequest, qp.WCSuccess)
	}
	n := packets(uint64(p.RETH.DMALen), c.mtu)
	r.expected = r.expected.Add(n)
	r.nakSent = false
	r.msn = (r.msn + 1) & 0xffffff
	*res = resource{
		first: p.PSN, end: r.expected, va: p.RETH.VA, length: uint64(p.RETH.DMALen),
		rkey: p.RETH.RKey, region: region, msn: r.msn, valid: true,
	}
	r.reads.insert(job{res: res, next: p.PSN})
	return Accepted
}

// duplicate handles a request whose PSN lies behind the expected one (IBA 9.7.5.1.3):
// SEND and WRITE are acknowledged and not executed, a READ is answered again.
func (c *RC) duplicate(p *bth.Packet, info *bth.OpcodeInfo) Verdict {
	switch info.Op {
	case bth.OpSend, bth.OpWrite:
		if c.rsp.reply.kind == replyNone {
			c.acknowledgeAll()
		}
		return Duplicate
	case bth.OpReadRequest:
		return c.replay(p)
	}
	return UnknownDuplicate
}

// replay answers a READ request again, from where the peer asks for it.
func (c *RC) replay(p *bth.Packet) Verdict {
	rs := &c.rsp.reads
	for i := range rs.ring {
		res := &rs.ring[i]
		k := distance(res.first, p.PSN)
		if !res.valid || k >= distance(res.first, res.end) {
			continue
		}
		off := uint64(k) * uint64(c.mtu)
		if p.RETH.RKey != res.rkey || p.RETH.VA != res.va+off || uint64(p.RETH.DMALen) != res.length-off {
			return UnknownDuplicate
		}
		c.count.ReadsReplayed++
		// RNICs begin the answer to a repeated READ with FIRST wherever it starts.
		// Linux rxe, which never sets MigReq, takes that for an error when the READ
		// began earlier.
		resume := k > 0 && !p.MigReq
		at := rs.find(res)
		if at < 0 {
			rs.insert(job{res: res, next: p.PSN, resume: resume, again: true})
		} else if j := &rs.jobs[at]; p.PSN.Before(j.next) {
			j.next, j.begun, j.resume = p.PSN, false, resume
		}
		return Duplicate
	}
	return UnknownDuplicate
}

// sendResponse emits the next packet of j and reports whether there was room.
func (c *RC) sendResponse(x *transmission, j *job) bool {
	res := j.res
	if res.length > 0 && !res.region.Valid() {
		c.rsp.reads.drop()
		c.count.ErrorNAKsSent++
		c.rsp.reply = reply{kind: replyError, psn: j.next, syndrome: bth.NakRemoteAccess}
		return true
	}
	k := distance(res.first, j.next)
	off := uint64(k) * uint64(c.mtu)
	n := min(res.length-off, uint64(c.mtu))
	begins := !j.begun && !j.resume
	ends := j.next.Add(1) == res.end
	p := c.packetOf(responseOps.pick(begins, ends), j.next)
	if begins || ends {
		p.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: res.msn}
	}
	f := x.frame(p, n)
	if f == nil {
		return false
	}
	if n > 0 && !attach(f, res.region, res.va+off, n) {
		x.dst.Drop()
		c.rsp.reads.drop()
		c.count.ErrorNAKsSent++
		c.rsp.reply = reply{kind: replyError, psn: j.next, syndrome: bth.NakRemoteOperational}
		return true
	}
	j.begun = true
	j.next = j.next.Add(1)
	if ends {
		c.rsp.reads.remove(0)
	}
	return true
}

// responseOps are the opcodes of READ responses.
var responseOps = opcodes{bth.RCReadResponseFirst, bth.RCReadResponseMiddle, bth.RCReadResponseLast, bth.RCReadResponseOnly}
