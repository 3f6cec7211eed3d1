package trace

import (
	"fmt"
	"strconv"
	"strings"
)

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
	// Flows without a packet since the last gap know nothing that this one could make doubtful. They are older than the others.
	c := a.table.newest
	for c != nil && !c.gapped && c.older != nil && !c.older.gapped {
		c = c.older
	}
	for ; c != nil && !c.gapped; c = c.newer {
		for i := range c.dir {
			st := &c.dir[i]
			a.giveUp(st, "", false)
			clear(st.recs)
			*st = stream{recs: st.recs, works: st.works}
		}
		c.ce = [2]int{}
		c.gapped = true
	}
}
