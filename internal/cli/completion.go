package cli

import (
	"context"
	"fmt"
	"runtime"

	"github.com/gorxe/gorxe/verbs"
)

// spins is how often a wait looks again before it sleeps, about 20 µs. Waking up costs about as much, and on a machine
// with few cores whoever looks longer takes the time from the goroutine that receives.
const spins = 64

// waiter takes completions from a CQ, with little latency when they come soon and without using the processor when not.
type waiter struct {
	cq  *verbs.CQ
	how waiting
}

// waiting is how a waiter waits.
type waiting uint8

const (
	lookThenSleep waiting = iota // for little latency when completions come soon
	sleep                        // at once
	neverSleep
)

// next returns at least one completion, or the reason why there is none. When ctx is over it does not go on.
func (w waiter) next(ctx context.Context, wc []verbs.WC) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if n := w.cq.Poll(wc); n > 0 {
		return n, nil
	}
	how := w.how
	if how == lookThenSleep && runtime.GOMAXPROCS(0) == 1 {
		// The program's one processor looks for packets when it has nothing else to do: looking for completions keeps it from that.
		how = sleep
	}
	for looked := 0; how != sleep && (how == neverSleep || looked < spins); looked++ {
		yield()
		if n := w.cq.Poll(wc); n > 0 {
			return n, nil
		}
		if looked%spins == spins-1 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	return w.cq.Wait(ctx, wc)
}

// completionError is a work request that failed, with what its status usually means for the user of a tool.
type completionError struct {
	wc   verbs.WC
	done string // how far the traffic had come: "17 of 1000 messages"
	dev  *verbs.Device
	peer verbs.GID
}

func (e *completionError) Error() string {
	text := fmt.Sprintf("%v (%s) on QP %#06x after %s", e.wc.Status, e.wc.Status.Name(), uint32(e.wc.QPN), e.done)
	switch e.wc.Status {
	case verbs.WCRetryExcErr:
		if err := e.dev.SendError(); err != nil {
			return fmt.Sprintf("%s: %s", text, oneLine(err))
		}
		return fmt.Sprintf("%s: no answer from %v: does UDP port 4791 reach it, and have both ends the same path MTU?", text, e.peer.Addr())
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
