package cm

import "math/bits"

// backOff starts to repeat the REP of a connection in REP_SENT with doubling intervals, up to the
// time at which all retries that the REQ permits (up to 15) would end at equal intervals. A REQ may
// have the forged address of a third party, which would get a REP for every retry. With the
// backoff, a REQ causes at most five REPs and one DREQ, each of the length of the REQ. A peer that
// misses all of them repeats its REQ, and each repeated REQ is answered.
func (m *Manager) backOff(now Time, c *conn) {
	c.interval = c.responseTimeout
	// Number of intervals, of 1, 2, 4 ... times c.responseTimeout, that fit into the remaining
	// time.
	c.retriesLeft = uint8(max(bits.Len64(uint64(max(c.until-now, 0)/Time(c.responseTimeout)))-1, 0))
	m.setTimer(c, c.nextREP(now))
}

// nextREP returns the time at which the REP is sent again or, after the last retransmission, the
// time at which the connection is given up.
func (c *conn) nextREP(now Time) Time {
	if c.retriesLeft == 0 {
		return max(c.until, now)
	}
	return now + Time(c.interval)
}

// firstRTU divides the response timeout: the quotient is the time before the first repeated RTU.
const firstRTU = 8

// repeatRTU sends the RTU of a connection again, with doubling intervals: an RTU is not
// acknowledged, and a peer that repeats its REP to get the RTU does so only a few times. Linux
// sends the RTU once, and again for each REP. The repetition ends when the peer sends a packet
// (CommEst), or when the peer no longer waits (until).
func (m *Manager) repeatRTU(now Time, c *conn) {
	if now >= c.until {
		m.stop(c)
		return
	}
	m.counters.Retries[m.resend(c).Index()]++
	c.interval *= 2
	m.setTimer(c, now+Time(c.interval))
}
