package trace

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
)

// end hands over what is left of c. cut means that c is given up to make room.
func (a *Analyzer) end(c *conn, cut bool) {
	c.Cut = cut
	a.cms.forget(c)
	for i := range c.dir {
		st := &c.dir[i]
		if c.Service == bth.ServiceRC {
			a.giveUp(st, c.whyOpen(st), cut)
		} else {
			a.giveUp(st, "", cut)
		}
		a.use.records -= len(st.recs)
		st.recs = nil
	}
	if a.o.Flow != nil {
		a.o.Flow(c.Flow)
	}
}

// whyOpen says why messages of st have no answer; nothing where the capture ends before.
func (c *conn) whyOpen(st *stream) string {
	switch {
	case st.refused:
		return "the connection failed before it was answered"
	case st.rnrs > 0:
		why := fmt.Sprintf("the receiver was not ready %s, and nothing is sent after that", times(st.rnrs))
		if c.Err == "" {
			c.Err = why
		}
		return why
	case c.Managed != nil && c.Managed.Ended:
		return "the connection ended before it was answered"
	}
	return ""
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times in a row", n)
}
