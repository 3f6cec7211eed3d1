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
