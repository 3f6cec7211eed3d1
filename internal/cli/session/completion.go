package session

import (
	"context"
	"fmt"
	"runtime"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/verbs"
)

// spins is the number of polls before a wait sleeps, about 20 µs. A wake-up costs about as much,
// and on a machine with few cores longer polling takes processor time from the goroutine that
// receives.
const spins = 64

// Waiter waits for completions of a CQ. Depending on its mode it polls for a moment, for low
// latency, and then sleeps.
type Waiter struct {
	CQ   *verbs.CQ
	Mode WaitMode
}

// WaitMode selects how a Waiter waits.
type WaitMode uint8

const (
	PollThenSleep WaitMode = iota // low latency for completions that arrive soon
	NoPoll                        // no polling
	NeverSleep
)

// Next stores completions in wc and returns their number, at least one. It fails when ctx is
// done.
func (w Waiter) Next(ctx context.Context, wc []verbs.WC) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if n := w.CQ.Poll(wc); n > 0 {
		return n, nil
	}
	how := w.Mode
	if how == PollThenSleep && runtime.GOMAXPROCS(0) == 1 {
		// With one P, the poller receives packets when the process is idle: polling for
		// completions would prevent that.
		how = NoPoll
	}
	for looked := 0; how != NoPoll && (how == NeverSleep || looked < spins); looked++ {
		Yield()
		if n := w.CQ.Poll(wc); n > 0 {
			return n, nil
		}
		if looked%spins == spins-1 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	return w.CQ.Wait(ctx, wc)
}

// CompletionError reports a work request that failed, with the usual cause of its status for the
// user of a tool.
type CompletionError struct {
	WC     verbs.WC
	Done   string // progress of the traffic, such as "17 of 1000 messages"
	Device *verbs.Device
	Peer   verbs.GID
}

// Error returns a text with the status, the queue pair and a likely cause.
func (e *CompletionError) Error() string {
	text := fmt.Sprintf("%v (%s) on QP %#06x after %s", e.WC.Status, e.WC.Status.Name(), uint32(e.WC.QPN), e.Done)
	switch e.WC.Status {
	case verbs.WCRetryExcErr:
		if err := e.Device.SendError(); err != nil {
			return fmt.Sprintf("%s: %s", text, app.OneLine(err))
		}
		return fmt.Sprintf("%s: no answer from %v: does UDP port 4791 reach it, and have both ends the same path MTU?",
			text, e.Peer.Addr())
	case verbs.WCRNRRetryExcErr:
		return text + ": the peer posted no receive; start both ends with the same test and parameters"
	case verbs.WCRemAccessErr:
		return text + ": the peer's memory does not extend that far; give both ends the same size (-s, -a) and number of QPs (-q)"
	case verbs.WCRemInvReqErr, verbs.WCRemOpErr:
		return text + ": the peer refuses the operation; start both ends with the same test, size and parameters"
	case verbs.WCLocLenErr:
		return text + ": the peer's message is longer than this end expects; give both ends the same size (-s)"
	}
	return text
}
