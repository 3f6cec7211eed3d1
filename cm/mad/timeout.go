package mad

// Timeout is the 5-bit code of a time in the messages: code t means 4.096 µs × 2^t, from 4.096 µs
// (0) to 2 h 26 min (31). Codes above [MaxTimeout] do not occur on the wire and mean MaxTimeout.
type Timeout uint8

// MaxTimeout is the code of the longest time.
const MaxTimeout Timeout = 31

// Nanoseconds returns the exact time. Linux rounds it to milliseconds: 1 ms for all codes up to
// 8, 2^(t-8) ms above, which is nearly 5 % less.
func (t Timeout) Nanoseconds() int64 { return 4096 << min(t, MaxTimeout) }

// TimeoutFor returns the code of the shortest time that is at least ns nanoseconds, or
// [MaxTimeout] if there is none.
func TimeoutFor(ns int64) Timeout {
	t := Timeout(0)
	for t < MaxTimeout && t.Nanoseconds() < ns {
		t++
	}
	return t
}

// ReplyTimeout returns how long the sender of a REQ waits for the REP before it retransmits the
// REQ, in nanoseconds: one packet life time in each direction, and the response timeout of the
// receiver.
func ReplyTimeout(packetLifeTime, remoteCMResponse Timeout) int64 {
	return 2*packetLifeTime.Nanoseconds() + remoteCMResponse.Nanoseconds()
}

// MRATimeout returns how long to wait for an answer after an MRA, in nanoseconds: the service
// timeout of the MRA, and one packet life time in each direction.
func MRATimeout(service, packetLifeTime Timeout) int64 {
	return 2*packetLifeTime.Nanoseconds() + service.Nanoseconds()
}

// LocalACKTimeout returns the local ACK timeout of a queue pair: the sum of the time that the other
// port takes to acknowledge (ackDelay) and of the packet life time in each direction. The sum of
// the two times may lie between the times of two codes. Like Linux, LocalACKTimeout rounds the sum
// up if the shorter time is at least half of the longer one, else down to the longer one. With
// Linux as the active side, a connection stays in TIMEWAIT for this time.
func LocalACKTimeout(ackDelay, packetLifeTime Timeout) Timeout {
	ackDelay, roundTrip := min(ackDelay, MaxTimeout), min(packetLifeTime, MaxTimeout)+1
	long, short := max(ackDelay, roundTrip), min(ackDelay, roundTrip)
	if long-short <= 1 {
		long++
	}
	return min(long, MaxTimeout)
}

// PacketLifeTime returns the packet life time from which a sender computed a local ACK timeout,
// as Linux derives it: half of the timeout.
func PacketLifeTime(localACK Timeout) Timeout {
	if localACK == 0 {
		return 0
	}
	return localACK - 1
}
