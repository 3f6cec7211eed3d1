package trace

import (
	"math"
	"time"
)

// noTime is the time in nanoseconds of a packet whose time is not known, because the capture has none or because it has one that
// nanoseconds since 1970 in 63 bits cannot express, which no clock shows. Nothing can be concluded from the distance to it.
const noTime = math.MinInt64

func nanoseconds(t time.Time) int64 {
	if s := t.Unix(); s < 0 || s >= math.MaxInt64/int64(time.Second) {
		return noTime
	}
	return t.UnixNano()
}

// since returns the time from at to the packet in hand in nanoseconds, 0 if it is not known.
func (a *Analyzer) since(at int64) int64 {
	if a.at == noTime || at == noTime {
		return 0
	}
	return a.at - at
}

// roundTrip counts the time from at to the packet in hand to the round trips of c, if it is known.
func (a *Analyzer) roundTrip(c *conn, at int64) {
	if a.at != noTime && at != noTime {
		c.RTT.add(a.at - at)
	}
}

// elapsed returns the time between two packets; 0 if it is not known: one of them has no time, or the later one the earlier time.
func elapsed(from, to time.Time) time.Duration {
	d := to.Sub(from)
	if d < 0 || d == math.MaxInt64 {
		return 0
	}
	return d
}
