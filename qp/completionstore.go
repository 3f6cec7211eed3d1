package qp

// A CompletionStore holds completions until the program polls them: a queue of this process
// ([CQ]), or a ring in memory shared with another process. Calls must not block or overlap.
type CompletionStore interface {
	// Push appends a copy of wc. A full store goes into the error state, as after
	// IBV_EVENT_CQ_ERR: it accepts no more completions. notify reports that the program
	// requested a notification and wc satisfies the request, which is then used up. A ring
	// makes wc visible to the program before it decides notify, so a program that requests a
	// notification and then polls misses no completion.
	Push(wc *WC) (notify bool)
	// Len returns the number of completions in the store.
	Len() int
	// Depth returns the capacity in completions.
	Depth() int
	// Overflowed reports whether a completion was lost because the store was full.
	Overflowed() bool
	// Resize changes the depth, which must not be less than Len.
	Resize(depth int) error
}

// notifyKind is the kind of completion that the program requested a notification for (IBA
// 11.4.2.2).
type notifyKind uint8

const (
	notifyNone      notifyKind = iota
	notifySolicited            // the next solicited receive, or completion in error
	notifyNext                 // the next completion
)

// due reports whether wc satisfies the request.
func (n notifyKind) due(wc *WC) bool {
	return n == notifyNext || n == notifySolicited && (wc.Solicited || wc.Status != WCSuccess)
}

// Arm requests a notification of the next completion or, with solicitedOnly, of the next
// completion that is solicited or in error. Completions that are already in the queue do not
// trigger it. A request for solicited completions does not replace an earlier request for any
// completion (IBA 11.4.2.2).
func (c *CQ) Arm(solicitedOnly bool) {
	switch {
	case !solicitedOnly:
		c.armed = notifyNext
	case c.armed == notifyNone:
		c.armed = notifySolicited
	}
}
