package transport

// Time is a reading of a monotonic clock in nanoseconds.
type Time int64

// Config holds the choices that the IBA leaves to the implementation. A zero field means its
// default.
type Config struct {
	// Window is the initial congestion window in PSNs, READ responses included. Default 128, or
	// MaxWindow if that is smaller; range 1 to 2^22. It is also the maximum towards Linux rxe,
	// which itself uses 128 (RXE_MAX_UNACKED_PSNS).
	//
	// A local ACK timeout sets the window to half of the outstanding PSNs, at least 1. Each
	// acknowledgement lets it grow again by the number of PSNs acknowledged, up to Window. The
	// IBA does not require this. Without it, queue pairs that together overrun a slow receiver time
	// out together, and each sends its whole window again until retry_cnt is spent.
	//
	// A NAK proves that the peer receives, so a single one does not reduce the window below this
	// size. But eight NAKs in a row set it to half of the outstanding PSNs, as a timeout does, if
	// hardly anything is acknowledged from one to the next: at most a quarter of what is
	// outstanding.
	//
	// Two cases exceed the window. A READ request may ask for a chunk (see ReadChunk) larger than
	// the window when nothing else is outstanding. And while one missing packet is sent again to a
	// peer that keeps the packets behind it, SENDs and WRITEs may use twice the window. As a
	// responder, the queue pair keeps packets up to twice its maximum window ahead of a missing
	// one.
	Window int
	// MaxWindow is the maximum congestion window in PSNs towards a peer that is not Linux rxe. 0
	// means Window if that is set, else 1,024. Range 1 to 2^22.
	//
	// A congestion window of at least Window grows only after all of it was outstanding: until the
	// first loss, by the number of PSNs acknowledged; later, by one step for each four windows
	// acknowledged. A step is a quarter of Window.
	//
	// If NAKs cause more than half a step to be sent again while one window is acknowledged, the
	// window is set to 0.7 times its size, rounded down to whole steps, but at least to Window. RNR
	// NAKs do not count.
	MaxWindow int
	// WindowBytes limits the initial window in bytes of payload, so that a window of large packets
	// fits into the receiver's socket buffer. One packet is always allowed. Default 256 KiB, or
	// MaxWindowBytes if that is smaller.
	WindowBytes int
	// MaxWindowBytes limits MaxWindow in the same way. 0 means WindowBytes if that is set, else 1
	// MiB.
	MaxWindowBytes int
	// AckEvery is the maximum number of request packets from one AckReq to the next. Default 32.
	// Linux rxe sets AckReq at about every 66th packet and stops at 128 unacknowledged ones. These
	// packets have AckReq too: the last packet of a message, the one that fills the window, a
	// repaired packet, and the last packet of a Transmit while other requesters use the same Share.
	AckEvery int
	// ReadChunk is the maximum number of response packets that one READ request asks for. A longer
	// READ is sent as several requests with consecutive PSNs, which a responder cannot tell from
	// shorter READs. The maximum is Window, because READ responses have no flow control of their
	// own. 0 means half of the window, so that two requests overlap, or all of it if max_rd_atomic
	// is 1. A link with segmentation offload may reduce it to 2: see [packet.Batch.LinkHasGSO].
	ReadChunk int
	// BackoffLimit limits the growth of the local ACK timeout: each timeout without progress
	// doubles the next one, up to BackoffLimit times that of the queue pair. The IBA permits it,
	// because a timeout may be detected as late as four times the programmed value (IBA 9.7.6.1.3,
	// C9-140). Default 4, range 1 to 4.
	BackoffLimit int
	// ProbeAfter is the minimum time without an answer, in nanoseconds, after which the oldest
	// unacknowledged packet is sent again as a probe, before the local ACK timeout and without
	// spending a retry. Only a peer that has shown that it keeps early packets is probed. The time
	// is longer if the RTT samples require it. Default 200,000 (200 µs).
	ProbeAfter Time
	// Congestion returns the congestion control of a new queue pair. If it is nil or returns nil,
	// the queue pair follows the rules at Window and MaxWindow.
	Congestion func() Congestion
}

// DefaultConfig returns the values used for zero fields of a [Config]. It has no values for
// ReadChunk and Congestion, whose zero has a meaning of its own.
func DefaultConfig() Config {
	return Config{
		Window: 128, MaxWindow: 1024, WindowBytes: 256 << 10, MaxWindowBytes: 1 << 20,
		AckEvery: 32, BackoffLimit: 4, ProbeAfter: 200_000,
	}
}

// withDefaults returns c with its zero fields filled in and its ranges enforced.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	c.Window, c.MaxWindow = withMax(c.Window, c.MaxWindow, d.Window, d.MaxWindow)
	c.WindowBytes, c.MaxWindowBytes = withMax(c.WindowBytes, c.MaxWindowBytes, d.WindowBytes, d.MaxWindowBytes)
	if c.AckEvery <= 0 {
		c.AckEvery = d.AckEvery
	}
	if c.BackoffLimit <= 0 {
		c.BackoffLimit = d.BackoffLimit
	}
	if c.ProbeAfter <= 0 {
		c.ProbeAfter = d.ProbeAfter
	}
	c.Window, c.MaxWindow = min(c.Window, 1<<22), min(c.MaxWindow, 1<<22)
	c.BackoffLimit = min(c.BackoffLimit, 4)
	return c
}

// withMax fills in a size and its maximum, whose defaults are n and most, and returns both. If only
// the maximum is set, the size is its default, but at most the maximum. If only the size is set,
// the maximum equals it. A maximum below the size is raised to the size.
func withMax(size, maxSize, n, most int) (int, int) {
	switch {
	case size <= 0 && maxSize <= 0:
		return n, most
	case size <= 0:
		size = min(n, maxSize)
	}
	return size, max(size, maxSize)
}

// AckTimeout returns the local ACK timeout for the 5-bit code of a queue pair: 4.096 µs × 2^code,
// from 8.192 µs for code 1 to 2.4 hours for code 31. Code 0 disables the timer, and AckTimeout
// returns 0 (IBA 9.7.6.1.3, C9-140).
func AckTimeout(code uint8) Time {
	if code == 0 {
		return 0
	}
	return 4096 << (code & 31)
}
