package perf

import (
	"context"
	"fmt"
	"time"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/verbs"
)

// latencyRun is the common part of the latency tests: one queue pair, one message at a time.
type latencyRun struct {
	*end
	qp       *queuePair
	size     uint64
	iters    uint64 // 0 with -D
	clock    runClock
	wr       verbs.SendWR
	sent     uint64
	received uint64
	pending  int // receives that completed while another completion was waited for
	wc       [2]verbs.WC
}

func (e *end) newLatencyRun(size uint64) *latencyRun {
	r := &latencyRun{end: e, qp: e.qps[0], size: size, clock: newRunClock(e.params)}
	if e.params.duration == 0 {
		r.iters = uint64(e.params.iters)
		r.result.posted = make([]time.Duration, 0, r.iters)
	}
	r.wr = verbs.SendWR{
		Opcode: e.params.opcode(), Flags: verbs.Signaled, CompareAdd: e.params.operand(),
		RemoteAddr: r.qp.remote.VAddr, RKey: r.qp.remote.RKey,
		AH: r.qp.ah, RemoteQPN: verbs.QPN(r.qp.remote.QPN), RemoteQKey: session.QKey,
	}
	if size <= uint64(e.params.inline) {
		r.wr.Flags, r.wr.InlineData = verbs.Signaled|verbs.Inline, e.buf[:size]
	} else {
		r.wr.SGList = []verbs.SGE{e.mr.SGE(0, int(size))}
	}
	return r
}

// more reports whether another message must be sent, or received, after n.
func (r *latencyRun) more(n uint64) bool {
	if r.iters == 0 {
		return !r.clock.over()
	}
	return n < r.iters
}

// post sends one message and records the time.
func (r *latencyRun) post() error {
	if r.iters > 0 {
		r.result.posted = append(r.result.posted, r.clock.now())
	}
	r.sent++
	r.progress.Add(1)
	return r.qp.PostSend(&r.wr)
}

// completion waits for a completion of a receive, or of a send, and returns true. With -D it
// returns false when the time is over.
func (r *latencyRun) completion(ctx context.Context, receive bool) (bool, error) {
	if receive && r.pending > 0 {
		r.pending--
		return true, nil
	}
	for {
		n, err := r.cq.Next(r.clock.limit(ctx), r.wc[:1])
		if err != nil {
			if ctx.Err() == nil && r.clock.over() {
				return false, nil
			}
			return false, err
		}
		if n == 0 {
			continue
		}
		wc := &r.wc[0]
		if wc.Status != verbs.WCSuccess {
			return false, &session.CompletionError{WC: *wc, Done: r.howFar(), Device: r.Device, Peer: r.qp.remote.GID}
		}
		switch isRecv := wc.WRID&recvID != 0; {
		case isRecv == receive:
			return true, nil
		case isRecv:
			r.pending++
		}
	}
}

func (r *latencyRun) howFar() string {
	if r.iters == 0 {
		return fmt.Sprintf("%d messages", r.sent)
	}
	return fmt.Sprintf("%d of %d messages", r.sent, r.iters)
}

// count counts one exchange of a run with -D.
func (r *latencyRun) count() {
	if r.clock.counts(r.clock.now()) {
		r.result.counted++
	}
}

func (r *latencyRun) finish() {
	if r.iters == 0 {
		from, to, _ := r.params.window()
		r.result.elapsed = to - from
		return
	}
	r.result.counted = r.iters
}

// fetchLatency repeatedly reads or atomically changes the peer's memory. Only the client calls
// it.
func (e *end) fetchLatency(ctx context.Context, size uint64) error {
	r := e.newLatencyRun(size)
	defer r.clock.stop()
	r.clock.start()
	for r.more(r.sent) {
		if err := r.post(); err != nil {
			return err
		}
		ok, err := r.completion(ctx, false)
		if err != nil {
			return err
		}
		if ok {
			r.count()
		}
	}
	r.finish()
	return nil
}

// messageLatency exchanges messages that consume a receive. With SENDs the client starts, with
// WRITEs the server.
func (e *end) messageLatency(ctx context.Context, size uint64) error {
	r := e.newLatencyRun(size)
	defer r.clock.stop()
	first := exchange.Client
	if e.params.imm {
		first = exchange.Server
	}
	if e.Role == first {
		r.clock.start()
	}
	for r.more(r.sent) || r.more(r.received) {
		if r.more(r.received) && (r.sent > 0 || e.Role != first) {
			ok, err := r.completion(ctx, true)
			if err != nil && !r.partedWell(ctx) {
				return err
			}
			if !ok {
				break
			}
			if !r.clock.started {
				r.clock.start()
			}
			r.received++
			r.count()
			if r.iters == 0 || r.qp.recvPosted < r.iters {
				if err := e.refill(0, size, 1); err != nil {
					return err
				}
			}
		}
		if !r.more(r.sent) {
			continue
		}
		if err := r.post(); err != nil {
			return err
		}
		if ok, err := r.completion(ctx, false); err != nil && !r.partedWell(ctx) {
			return err
		} else if !ok {
			break
		}
	}
	r.finish()
	return nil
}

// writeLatency exchanges WRITEs: each end waits until the last byte of its memory holds the
// number of the peer's message modulo 256, and then writes its own. The server starts.
func (e *end) writeLatency(ctx context.Context, size uint64) error {
	r := e.newLatencyRun(size)
	defer r.clock.stop()
	r.clock.start()
	mine, theirs := int(size)-1, int(e.halfOffset(0)+size)-1
	for r.more(r.sent) || r.more(r.received) {
		if r.more(r.received) && (r.sent > 0 || e.Role == exchange.Client) {
			ok, err := r.awaitByte(ctx, theirs, byte(r.received+1))
			if err != nil && !r.partedWell(ctx) {
				return err
			}
			if !ok {
				break
			}
			r.received++
		}
		if !r.more(r.sent) {
			continue
		}
		e.buf[mine] = byte(r.sent + 1)
		if err := r.post(); err != nil {
			return err
		}
		ok, err := r.completion(ctx, false)
		if err != nil && !r.partedWell(ctx) {
			return err
		}
		if !ok {
			break
		}
		r.count()
	}
	r.finish()
	return nil
}

// partedWell reports whether the peer has left because it was done: all messages were received
// and only the last acknowledgement was lost, or the measured interval of a run with -D is over.
func (r *latencyRun) partedWell(ctx context.Context) bool {
	if context.Cause(ctx) != session.ErrPeerGone {
		return false
	}
	return r.clock.counted() || r.iters > 0 && r.received >= r.iters && r.sent >= r.iters
}

// Phases of a wait for a change of memory. Nothing wakes a reader, so it polls, first without
// sleeping, then at increasing intervals.
const (
	pollSpins = 1000 // about 300 µs
	pollDozes = 200  // about 20 ms
	pollPause = time.Millisecond
)

// awaitByte waits until the byte at off is want. With -D it returns false when the time is over.
func (r *latencyRun) awaitByte(ctx context.Context, off int, want byte) (bool, error) {
	for looked := 0; r.mr.LoadByte(off) != want; looked++ {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if r.clock.over() {
			return false, nil
		}
		switch {
		case looked < pollSpins:
			session.Yield()
		case looked < pollSpins+pollDozes:
			session.ShortSleep()
		default:
			time.Sleep(pollPause)
		}
	}
	return true, nil
}
