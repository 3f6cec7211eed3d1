package session

import (
	"context"
	"fmt"
	"runtime"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/verbs"
)

// spins is how often a wait looks again before it sleeps, about 20 µs. Waking up costs about as much, and on a machine
// with few cores whoever looks longer takes the time from the goroutine that receives.
const spins = 64

// Waiter takes completions from a CQ: it polls for a moment, for low latency, and then sleeps, depending on its mode.
type Waiter struct {
	CQ   *verbs.CQ
	Mode WaitMode
}

// WaitMode is how a Waiter waits.
type WaitMode uint8

const (
	LookThenSleep WaitMode = iota // for little latency when completions come soon
	SleepAtOnce                   // at once
	NeverSleep
)

// Next returns the number of completions in wc, at least one, or the reason why there is none. It stops when ctx ends.
func (w Waiter) Next(ctx context.Context, wc []verbs.WC) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if n := w.CQ.Poll(wc); n > 0 {
		return n, nil
	}
	how := w.Mode
	if how == LookThenSleep && runtime.GOMAXPROCS(0) == 1 {
		// The program's one processor looks for packets when it has nothing else to do: looking for completions keeps it from that.
		how = SleepAtOnce
	}
	for looked := 0; how != SleepAtOnce && (how == NeverSleep || looked < spins); looked++ {
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

// CompletionError is a work request that failed, with what its status usually means to the user of a tool.
type CompletionError struct {
	WC     verbs.WC
	Done   string // how far the traffic had come: "17 of 1000 messages"
	Device *verbs.Device
	Peer   verbs.GID
}

// Error names the status and the queue pair, and suggests what is wrong.
func (e *CompletionError) Error() string {
	text := fmt.Sprintf("%v (%s) on QP %#06x after %s", e.WC.Status, e.WC.Status.Name(), uint32(e.WC.QPN), e.Done)
	switch e.WC.Status {
	case verbs.WCRetryExcErr:
		if err := e.Device.SendError(); err != nil {
			return fmt.Sprintf("%s: %s", text, app.OneLine(err))
		}
		return fmt.Sprintf("%s: no answer from %v: does UDP port 4791 reach it, and have both ends the same path MTU?", text, e.Peer.Addr())
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
