package cm

import "math/bits"

// backOff starts to repeat the REP of a connection in REP_SENT with doubling intervals, up to the
// time at which 15 retries at equal intervals would end. A REQ may carry the address of a third
// party, to which a REP for every retry would be sent: with the backoff, a REQ causes at most
// five REPs and one DREQ, each of the length of the REQ. A peer that misses all of them repeats
// its REQ, and each of those is answered.
func (m *Manager) backOff(now Time, c *conn) {
	c.gap = c.reply
	// Number of intervals 1, 2, 4 ... times reply that fit into the remaining time.
	c.left = uint8(max(bits.Len64(uint64(max(c.until-now, 0)/Time(c.reply)))-1, 0))
	m.setTimer(c, c.nextREP(now))
}

// nextREP returns when the REP is due again, or when the connection is given up.
func (c *conn) nextREP(now Time) Time {
	if c.left == 0 {
		return max(c.until, now)
	}
	return now + Time(c.gap)
}

// firstRTU is the divisor of the response timeout that gives the first interval of repeated RTUs.
const firstRTU = 8

// repeatRTU sends the RTU of a connection again, with doubling intervals: an RTU is not
// acknowledged, and a peer that repeats its REP to get the RTU does so only a few times. Linux
// sends it once, and once per REP. The repetition ends when the peer sends a packet (CommEst), or
// has given up.
func (m *Manager) repeatRTU(now Time, c *conn) {
	if now >= c.until {
		m.stop(c)
		return
	}
	m.counters.Retries[m.resend(c).Index()]++
	c.gap *= 2
	m.setTimer(c, now+Time(c.gap))
}
