package summary

import "time"

// clock compares the times of consecutive frames.
type clock struct {
	Clock
	last time.Time
}

func (c *clock) tick(t time.Time) {
	if !c.last.IsZero() {
		switch d := t.Sub(c.last); {
		case d < 0:
			c.Back++
			c.MaxBack = max(c.MaxBack, max(-d, 0))
		case d > JumpTime:
			c.Jumps++
			c.MaxJump = max(c.MaxJump, d)
		}
	}
	c.last = t
}
