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

// firstRTU is the part of the time given to an answer after which an RTU is repeated.
const firstRTU = 8

// repeatRTU sends the RTU of a connection once more, after twice the wait before: nobody answers
// it, and a peer that repeats its REP for the RTU does so a few times only. Linux sends it once,
// and for each REP. It ends when the peer sends something (CommEst), or has given up.
func (m *Manager) repeatRTU(now Time, c *conn) {
	if now >= c.until {
		m.stop(c)
		return
	}
	m.counters.Retries[m.resend(c).Index()]++
	c.gap *= 2
	m.setTimer(c, now+Time(c.gap))
}
