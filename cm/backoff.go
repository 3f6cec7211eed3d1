package cm

import "math/bits"

// backOff begins to repeat the REP of a connection in REP_SENT, each time after twice the wait
// before, up to the time at which 15 retries at even waits would end. A REQ may bear the address
// of a third party, which a REP for every retry would reach: so a REQ draws five REPs and a DREQ
// at most, which are as long as itself. A peer that misses all of them repeats its REQ, and each
// is answered.
func (m *Manager) backOff(now Time, c *conn) {
	c.gap = c.reply
	// The waits 1, 2, 4 ... of reply that fit into the time that is left.
	c.left = uint8(max(bits.Len64(uint64(max(c.until-now, 0)/Time(c.reply)))-1, 0))
	m.setTimer(c, c.nextREP(now))
}

// nextREP is when the REP is due again, or given up.
func (c *conn) nextREP(now Time) Time {
	if c.left == 0 {
		return max(c.until, now)
	}
	return now + Time(c.gap)
}
