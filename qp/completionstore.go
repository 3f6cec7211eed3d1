package qp

// A CompletionStore holds completions until a program takes them: a queue of this process ([CQ]), or a
// ring in memory that another process shares. Calls must not block, and do not overlap.
type CompletionStore interface {
	// Push appends a copy of wc. A store without room for it is in error from then on, as after
	// IBV_EVENT_CQ_ERR: it takes no more. notify reports that the program has asked for a notification
	// of wc; each request is for one notification. A ring makes wc visible to the program before it
	// decides notify, so a program that asks and then polls misses no completion.
	Push(wc *WC) (notify bool)
	// Len returns the number of completions that wait.
	Len() int
	// Depth returns the number of completions that the store was made for.
	Depth() int
	// Overflowed reports whether a completion found no room.
	Overflowed() bool
	// Resize changes the depth, to no less than Len.
	Resize(depth int) error
}

// notice is the kind of completion that the program requested a notification of (IBA 11.4.2.2).
type notice uint8

const (
	noticeNone      notice = iota
	noticeSolicited        // the next solicited receive, or completion in error
	noticeNext             // the next completion
)

// due reports whether wc is such a completion.
func (n notice) due(wc *WC) bool {
	return n == noticeNext || n == noticeSolicited && (wc.Solicited || wc.Status != WCSuccess)
}

// Arm requests a notification of the next completion or, with solicitedOnly, of the next completion
// that is solicited or in error. Completions that are in the queue already do not count. A request for
// solicited completions does not replace an earlier one for any completion (IBA 11.4.2.2).
func (c *CQ) Arm(solicitedOnly bool) {
	switch {
	case !solicitedOnly:
		c.armed = noticeNext
	case c.armed == noticeNone:
		c.armed = noticeSolicited
	}
}
