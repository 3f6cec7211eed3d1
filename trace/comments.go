package trace

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/bth"
)

// Parts of the frame comments in gorxe's own traces, from which the [Analyzer] sets Message.WR and
// Message.WC.
const (
	requestNote    = "work request: "
	completionNote = "completion of PSN "
	splitNote      = ", a WRITE for each packet from PSN "
)

// RequestNote returns the frame comment that names the work request of a packet.
func RequestNote(wr string) string { return requestNote + wr }

// SplitNote returns the frame comment that names the work request of a packet of a WRITE that is
// sent as one WRITE ONLY message per packet. bytes is the length of the work request and first the
// PSN of its first packet. Without the comment, such a WRITE looks like several work requests.
func SplitNote(wr string, bytes uint64, first bth.PSN) string {
	return fmt.Sprintf("%s%s%s%d, %d bytes in all", requestNote, wr, splitNote, uint32(first), bytes)
}

// split parses the [SplitNote] of the frame; ok is false if the frame has none.
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

// CompletionNote returns the frame comment for the packet that completed a work request. first is
// the PSN of the work request's first packet.
func CompletionNote(first bth.PSN, wc string) string {
	return fmt.Sprintf("%s%d: %s", completionNote, uint32(first), wc)
}

// notes are the parsed comments of a frame. They are parsed once, for the frame's first packet: a
// frame may have thousands of packets.
type notes struct {
	frame       int    // frame number; 0: the current packet has no comments
	missing     bool   // packets are missing before the frame
	request     string // work request, or ""
	completions []completion
}

// completion is a parsed [CompletionNote].
type completion struct {
	first bth.PSN // PSN of the work request's first packet
	wc    string
}

// readNotes parses the comments of the current packet's frame, unless it did so for an earlier
// packet of the frame.
func (a *Analyzer) readNotes() {
	p, n := a.p, &a.notes
	if p.Part > 1 && p.Number == n.frame {
		n.missing = false // the first packet of the frame handled it
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

// maxNote limits the bytes of a work request or completion that are kept with an open message.
// gorxe writes about a hundred; a pcapng option has up to 65,535.
const maxNote = 1 << 10

// cut returns text truncated to maxNote bytes. The result does not keep the rest in memory.
func cut(text string) string {
	const more = "…"
	if len(text) <= maxNote {
		return text
	}
	return strings.ToValidUTF8(text[:maxNote-len(more)], "") + more
}

// setCompletions sets Message.WC of the messages of c that are complete according to the comments
// of the current packet. End from of c sent the packet.
func (a *Analyzer) setCompletions(c *conn, from int) {
	for _, n := range a.notes.completions {
		// The packet is a response to the request, or a later packet of the same end.
		for _, end := range [2]int{1 - from, from} {
			if w := c.seen(end).works.find(n.first); w != nil {
				w.m.WC = n.wc
				break
			}
		}
	}
	a.notes.completions = nil // apply them once per frame
}

// setRequest sets Message.WR of the current packet's message, if a comment of its frame names the
// work request and the frame has only this packet.
func (a *Analyzer) setRequest() {
	if wr := a.notes.request; wr != "" && a.p.Message != nil && a.p.Parts == 1 {
		a.p.Message.WR = wr
	}
}

const (
	missingNote = " packets before this one are missing: the trace could not be written fast enough"
	// oldMissingNote is the text of missingNote in traces of earlier versions.
	oldMissingNote = " packets before this one are missing: they came faster than the trace could be written"
)

// MissingNote returns the comment on a frame before which gorxe could not write n frames.
func MissingNote(n uint64) string { return fmt.Sprint(n, missingNote) }

// Missing returns the number of packets that comment reports as missing before its frame, 0 if it
// is a different comment.
func Missing(comment string) uint64 {
	digits, ok := strings.CutSuffix(comment, missingNote)
	if !ok {
		digits, ok = strings.CutSuffix(comment, oldMissingNote)
	}
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Gap tells the Analyzer that the capture lacks packets before the next one. The state of all
// flows restarts, as at the beginning of a capture, and packets lost to the gap cause no
// findings. Open messages are passed to the callback. Add calls Gap when a comment reports
// missing packets.
func (a *Analyzer) Gap() {
	// Flows without a packet since the last gap have no state to reset. They are the oldest in
	// the list.
	c := a.table.newest
	for c != nil && !c.gapped && c.older != nil && !c.older.gapped {
		c = c.older
	}
	for ; c != nil && !c.gapped; c = c.newer {
		for _, st := range c.dir {
			if st == nil {
				continue
			}
			a.finishOpen(st, "", false)
			clear(st.recs)
			*st = stream{recs: st.recs, works: st.works}
		}
		for _, h := range c.directions {
			a.table.silence(h)
		}
		c.ce = [2]int{}
		c.gapped = true
	}
}
