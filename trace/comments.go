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
	splitNote      = ", a WRITE for each packet from PSN "
)

// RequestNote is the comment on a packet that says which work request it belongs to.
func RequestNote(wr string) string { return requestNote + wr }

// SplitNote is the comment on a packet of a WRITE of so many bytes that is sent as a WRITE for each of its packets, the first of
// which has the PSN first: nothing in the packets themselves tells it from several work requests.
func SplitNote(wr string, bytes uint64, first bth.PSN) string {
	return fmt.Sprintf("%s%s%s%d, %d bytes in all", requestNote, wr, splitNote, uint32(first), bytes)
}

// split returns what a SplitNote says of the work request.
func (n *notes) split() (bytes uint64, first bth.PSN, ok bool) {
	_, text, ok := strings.Cut(n.request, splitNote)
	if !ok {
		return 0, 0, false
	}
	digits, text, _ := strings.Cut(text, ", ")
	psn, err := strconv.ParseUint(digits, 10, 24)
	if err != nil {
		return 0, 0, false
	}
	digits, _, _ = strings.Cut(text, " ")
	bytes, err = strconv.ParseUint(digits, 10, 31)
	return bytes, bth.PSN(psn), err == nil
}

// CompletionNote is the comment on the packet that led to the completion of a work request whose first packet has the PSN first.
func CompletionNote(first bth.PSN, wc string) string {
	return fmt.Sprintf("%s%d: %s", completionNote, uint32(first), wc)
}

// notes are the comments on a frame that mean something to the [Analyzer]. They are read once: a frame may have thousands of packets.
type notes struct {
	frame       int    // 0 while the packet in hand has no comments
	missing     bool   // packets are missing before it
	request     string // the work request, empty if there is none
	completions []completion
}

type completion struct {
	first bth.PSN
	wc    string
}

// readNotes reads the comments of the packet in hand, if it is the first of its frame that is added.
func (a *Analyzer) readNotes() {
	p, n := a.p, &a.notes
	if p.Part > 1 && p.Number == n.frame {
		n.missing = false // the first packet has dealt with it
		return
	}
	*n = notes{frame: p.Number}
	for _, text := range p.Comments {
		if wr, ok := strings.CutPrefix(text, requestNote); ok {
			n.request = cut(wr)
		} else if wc, ok := strings.CutPrefix(text, completionNote); ok {
			digits, wc, _ := strings.Cut(wc, ": ")
			if psn, err := strconv.ParseUint(digits, 10, 24); err == nil {
				n.completions = append(n.completions, completion{bth.PSN(psn), cut(wc)})
			}
		} else if Missing(text) > 0 {
			n.missing = true
		}
	}
}

// maxNote is how many bytes of a work request or completion are kept with an open message. Those of gorxe have about a hundred; an
// option of pcapng has room for 65,535.
const maxNote = 1 << 10

// cut returns text with no more than maxNote bytes. It does not keep the rest in memory.
func cut(text string) string {
	const more = "…"
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-len(more)], "") + more
}

// noted gives messages of c the completions that gorxe noted on the packet in hand, which comes from c's end from.
func (a *Analyzer) noted(c *conn, from int) {
	for _, n := range a.notes.completions {
		// The packet is an answer to it, or a later packet of its own end.
		for _, end := range [2]int{1 - from, from} {
			if w := c.dir[end].works.find(n.first); w != nil {
				w.m.WC = n.wc
				break
			}
		}
	}
	a.notes.completions = nil // further packets of the frame need not look
}

// requested gives the message of the packet in hand its work request, if gorxe noted that.
func (a *Analyzer) requested() {
	if wr := a.notes.request; wr != "" && a.p.Message != nil && a.p.Parts == 1 {
		a.p.Message.WR = wr
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
