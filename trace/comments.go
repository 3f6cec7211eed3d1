package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/bth"
)

// Comments on the frames of gorxe's own traces. The [Analyzer] takes WR and WC of messages from them.
const (
	requestNote    = "work request: "
	completionNote = "completion of PSN "
)

// RequestNote is the comment on a packet that says which work request it belongs to.
func RequestNote(wr string) string { return requestNote + wr }

// CompletionNote is the comment on the packet that led to the completion of a work request whose first packet has the PSN first.
func CompletionNote(first bth.PSN, wc string) string {
	return fmt.Sprintf("%s%d: %s", completionNote, uint32(first), wc)
}

// noted gives messages of c what gorxe noted on the packet in hand, which comes from c's end from.
func (a *Analyzer) noted(c *conn, from int) {
	for _, text := range a.p.Comments {
		if wc, ok := strings.CutPrefix(text, completionNote); ok {
			digits, wc, _ := strings.Cut(wc, ": ")
			psn, err := strconv.ParseUint(digits, 10, 24)
			if err != nil {
				continue
			}
			// The packet is an answer to it, or a later packet of its own end.
			for _, end := range [2]int{1 - from, from} {
				if w := c.dir[end].works.find(bth.PSN(psn)); w != nil {
					w.m.WC = wc
					break
				}
			}
		}
	}
}

// requested gives the message of the packet in hand its work request, if gorxe noted that.
func (a *Analyzer) requested() {
	for _, text := range a.p.Comments {
		if wr, ok := strings.CutPrefix(text, requestNote); ok && a.p.Message != nil && a.p.Parts == 1 {
			a.p.Message.WR = wr
		}
	}
}

const missingNote = " packets before this one are missing: they came faster than the trace could be written"

// MissingNote is the comment on a frame before which a trace of gorxe lacks n frames.
func MissingNote(n uint64) string { return fmt.Sprint(n, missingNote) }

// Missing is how many packets a comment on a frame says are missing before it, 0 for other comments.
func Missing(comment string) uint64 {
	digits, ok := strings.CutSuffix(comment, missingNote)
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Gap tells that the capture lacks packets before the one that is added next. What the ends of each flow expect is not
// known from there on, as at the beginning of a capture; that a packet was not captured is no finding. Messages that are
// open are handed over. Add does this by itself where a comment says that packets are missing.
func (a *Analyzer) Gap() {
	for c := a.table.oldest; c != nil; c = c.newer {
		for i := range c.dir {
			st := &c.dir[i]
			a.giveUp(st, "", false)
			clear(st.recs)
			*st = stream{recs: st.recs, works: st.works}
		}
		c.ce = [2]int{}
	}
}

// gap looks for a comment that says that packets are missing before the packet in hand. One frame may have several packets.
func (a *Analyzer) gap() {
	if len(a.p.Comments) == 0 || a.p.Number == a.gapped {
		return
	}
	for _, c := range a.p.Comments {
		if Missing(c) > 0 {
			a.gapped = a.p.Number
			a.Gap()
			return
		}
	}
}
