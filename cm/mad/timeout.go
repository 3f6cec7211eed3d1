package mad

// Timeout is a time as the messages carry it, 5 bits: code t stands for 4.096 µs ×
// 2^t, from 4.096 µs (0) to 2 h 26 min (31). Codes above [MaxTimeout] do not occur
// on the wire and count as it.
type Timeout uint8

// MaxTimeout is the longest time.
const MaxTimeout Timeout = 31

// Nanoseconds returns the time exactly. Linux rounds it to milliseconds: 1 ms for
// all codes up to 8, 2^(t-8) ms above, which is nearly 5 % less.
func (t Timeout) Nanoseconds() int64 { return 4096 << min(t, MaxTimeout) }

// TimeoutFor returns the shortest time that is not less than ns nanoseconds, or
// [MaxTimeout] if there is none.
func TimeoutFor(ns int64) Timeout {
	t := Timeout(0)
	for t < MaxTimeout && t.Nanoseconds() < ns {
		t++
	}
	return t
}

// ReplyTimeout returns in nanoseconds how long the sender of a REQ waits for the
// REP before it sends the REQ again: the way there and back, each of one packet
// life time, and the time that the receiver was given to answer.
func ReplyTimeout(packetLifeTime, remoteCMResponse Timeout) int64 {
	return 2*packetLifeTime.Nanoseconds() + remoteCMResponse.Nanoseconds()
}

// MRATimeout returns in nanoseconds how long to wait for an answer after an MRA
// has come: the service timeout that it names, and the way there and back.
func MRATimeout(service, packetLifeTime Timeout) int64 {
	return 2*packetLifeTime.Nanoseconds() + service.Nanoseconds()
}

// LocalACKTimeout returns the local ACK timeout of a queue pair: the time that the
// other port takes to acknowledge, and the way there and back. Like Linux it does
// not always round up, which would double the longer of the two whatever the
// other is: it does when the shorter is at least half of the longer. As long as
// that, a connection of Linux's active side stays in timewait after its end.
func LocalACKTimeout(ackDelay, packetLifeTime Timeout) Timeout {
	ackDelay, roundTrip := min(ackDelay, MaxTimeout), min(packetLifeTime, MaxTimeout)+1
	long, short := max(ackDelay, roundTrip), min(ackDelay, roundTrip)
	if long-short <= 1 {
		long++
	}
	return min(long, MaxTimeout)
}

// PacketLifeTime returns the packet life time that the sender of a local ACK
// timeout had in mind, as Linux derives it: half of it.
func PacketLifeTime(localACK Timeout) Timeout {
	if localACK == 0 {
		return 0
	}
	return localACK - 1
}
