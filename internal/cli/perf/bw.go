package perf

import (
	"context"
	"fmt"
	"time"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// A work request ID holds the index of its queue pair and, for sends, the number of messages that
// its completion covers.
const (
	recvID  = 1 << 63
	qpMask  = 1<<32 - 1
	countAt = 32
)

// traffic runs messages of size bytes and stores the measurement in e.result.
func (e *end) traffic(ctx context.Context, size uint64) error {
	for i, q := range e.qps {
		q.local = newWalker(uint64(i)*e.half(), size, e.cycle, e.cacheLine)
		q.target = newWalker(q.remote.VAddr, size, e.cycle, e.cacheLine)
		q.posted, q.completed = 0, 0
	}
	e.result = result{size: size}
	switch p := e.params; {
	case !p.test.Latency():
		return newBandwidthRun(e, size).run(ctx)
	case p.test.Fetches():
		return e.fetchLatency(ctx, size)
	case p.twoSided():
		return e.messageLatency(ctx, size)
	}
	return e.writeLatency(ctx, size)
}

// bandwidthRun is a bandwidth test of one size at one end, which sends, receives, or does both.
type bandwidthRun struct {
	*end
	size            uint64
	sends, receives bool
	iters           uint64 // number of messages per queue pair each way; 0 with -D
	clock           runClock

	// started allows sending: the server of a bidirectional SEND test waits for the first
	// message.
	started       bool
	posted, acked uint64          // numbers of messages of all queue pairs
	received      uint64          // likewise
	peak          bool            // measure the peak bandwidth
	postedAt      []time.Duration // by message, over all queue pairs
	ackedAt       []time.Duration

	wrs  [postBatch]verbs.SendWR
	sges [postBatch]verbs.SGE
	ptrs [postBatch]*verbs.SendWR
}

func newBandwidthRun(e *end, size uint64) *bandwidthRun {
	p := e.params
	r := &bandwidthRun{end: e, size: size, sends: p.sends(e.Role), receives: e.receives()}
	if p.duration == 0 {
		r.iters = uint64(p.iters)
	}
	r.clock = newRunClock(p)
	r.peak = r.sends && !p.noPeak
	r.started = r.sends && !(r.receives && e.Role == exchange.Server)
	for i := range r.wrs {
		r.ptrs[i] = &r.wrs[i]
	}
	return r
}

func (r *bandwidthRun) run(ctx context.Context) error {
	defer r.clock.stop()
	if r.started {
		r.clock.start()
	}
	var wc [postBatch]verbs.WC
	for !r.done() {
		if err := r.fill(); err != nil {
			return err
		}
		n, err := r.wait(ctx, wc[:])
		if err != nil {
			return err
		}
		r.progress.Add(uint64(n))
		now := r.clock.now()
		for i := range wc[:n] {
			if err := r.take(&wc[i], now); err != nil {
				return err
			}
		}
	}
	r.finish()
	return nil
}

// done reports whether all messages are complete, or the time is over.
func (r *bandwidthRun) done() bool {
	if r.iters == 0 {
		return r.clock.over()
	}
	total := r.iters * uint64(len(r.qps))
	return (!r.sends || r.acked >= total) && (!r.receives || r.received >= total)
}

// wait waits for completions. With -D it returns 0 when the time is over.
func (r *bandwidthRun) wait(ctx context.Context, wc []verbs.WC) (int, error) {
	n, err := r.cq.Next(r.clock.limit(ctx), wc)
	if err != nil && ctx.Err() == nil && r.clock.over() {
		return 0, nil
	}
	return n, err
}

// fill posts as many messages as the depth of the queue pairs allows.
func (r *bandwidthRun) fill() error {
	if !r.started {
		return nil
	}
	depth, list := uint64(r.params.txDepth), uint64(r.params.postList)
	for i, q := range r.qps {
		for !r.clock.over() {
			room := depth - (q.posted - q.completed)
			if r.iters > 0 {
				room = min(room, r.iters-q.posted)
			}
			n := min(room/list*list, max(list, postBatch/list*list))
			if n == 0 {
				break
			}
			if err := r.post(i, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// post posts n messages on queue pair i, in calls of at most postBatch.
func (r *bandwidthRun) post(i int, n uint64) error {
	q, mod := r.qps[i], uint64(r.params.cqMod)
	for n > 0 {
		k := int(min(n, postBatch))
		if r.peak {
			now := r.clock.now()
			for range k {
				r.postedAt = append(r.postedAt, now)
			}
		}
		for j := range k {
			q.posted++
			r.fillIn(j, i)
			if last := q.posted == r.iters; last || q.posted%mod == 0 {
				stands := mod
				if last && q.posted%mod != 0 {
					stands = q.posted % mod
				}
				r.wrs[j].ID |= stands << countAt
				r.wrs[j].Flags |= verbs.Signaled
			}
		}
		if err := q.PostSend(r.ptrs[:k]...); err != nil {
			return err
		}
		r.posted += uint64(k)
		n -= uint64(k)
	}
	return nil
}

// fillIn makes work request j the next message of queue pair i.
func (r *bandwidthRun) fillIn(j, i int) {
	q, wr := r.qps[i], &r.wrs[j]
	at := q.local.next()
	*wr = verbs.SendWR{ID: uint64(i), Opcode: r.params.opcode()}
	if r.size <= uint64(r.params.inline) {
		wr.Flags, wr.InlineData = verbs.Inline, r.buf[at:at+r.size]
	} else {
		r.sges[j] = verbs.SGE{Addr: r.mr.Addr() + at, Length: uint32(r.size), LKey: r.mr.LKey()}
		wr.SGList = r.sges[j : j+1]
	}
	if !r.params.test.Send() {
		wr.RemoteAddr, wr.RKey = q.target.next(), q.remote.RKey
	}
	wr.CompareAdd = r.params.operand()
	wr.AH, wr.RemoteQPN, wr.RemoteQKey = q.ah, verbs.QPN(q.remote.QPN), session.QKey
}

// take processes one completion.
func (r *bandwidthRun) take(wc *verbs.WC, now time.Duration) error {
	i := int(wc.WRID & qpMask)
	if wc.Status != verbs.WCSuccess {
		return &session.CompletionError{WC: *wc, Done: r.howFar(), Device: r.Device, Peer: r.qps[i].remote.GID}
	}
	if wc.WRID&recvID != 0 {
		return r.takeReceive(wc, i, now)
	}
	n := wc.WRID >> countAt
	r.qps[i].completed += n
	r.acked += n
	if r.clock.counts(now) {
		r.result.counted += n
	}
	if r.peak {
		for range n {
			r.ackedAt = append(r.ackedAt, now)
		}
	}
	return nil
}

func (r *bandwidthRun) takeReceive(wc *verbs.WC, i int, now time.Duration) error {
	if want := r.params.received(r.size); uint64(wc.ByteLen) != want {
		return fmt.Errorf("received a message of %d bytes, want %d: give both ends the same -s", wc.ByteLen, want)
	}
	if r.received == 0 {
		if !r.clock.started {
			r.clock.start()
		}
		r.started = r.sends
	}
	r.received++
	if r.clock.counts(now) && r.clock.started {
		r.result.counted++
	}
	q := r.qps[i]
	if r.iters == 0 || q.recvPosted < r.iters {
		return r.refill(i, r.size, 1)
	}
	return nil
}

func (r *bandwidthRun) howFar() string {
	n := max(r.acked, r.received)
	if r.iters == 0 {
		return fmt.Sprintf("%d messages", n)
	}
	return fmt.Sprintf("%d of %d messages", n, r.iters*uint64(len(r.qps)))
}

// finish computes the result.
func (r *bandwidthRun) finish() {
	res := &r.result
	if r.iters == 0 {
		from, to, _ := r.params.window()
		res.elapsed = to - from
		return
	}
	res.counted = r.iters * uint64(len(r.qps))
	res.elapsed = r.clock.now()
	if r.peak {
		res.peakGap = peakGap(r.postedAt, r.ackedAt)
	}
}
