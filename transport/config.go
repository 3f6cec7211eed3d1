package transport

// Time is a reading of a monotonic clock in nanoseconds.
type Time int64

// Config holds what the IBA leaves to the implementation. A zero field stands for
// the value of [DefaultConfig].
type Config struct {
	// Window is the largest number of PSNs a requester has unacknowledged, READ
	// responses included, at first and towards Linux rxe, which uses 128 itself. Range 1 to 2^22.
	//
	// A local ACK timeout halves what was unacknowledged, down to one packet, and every
	// acknowledgement lets as many more PSNs out as it covers, up to Window again. The IBA
	// leaves it open; without it, queue pairs that together overrun a slow receiver time out
	// together, and each repeats its whole window until retry_cnt is spent. NAKs, which say
	// that the peer hears, do not change it. A READ request is never made smaller than its
	// chunk: one is always allowed where nothing else is unacknowledged. While a packet is
	// repaired, SENDs and WRITEs may be as many again; a responder keeps as far ahead.
	Window int
	// MaxWindow is what the window may grow to. It does so where it was full and the peer is not rxe: by what is
	// acknowledged until a NAK tells of a loss, and then by a quarter of Window for each four windows that are
	// acknowledged. Such a NAK makes it 0.7 times as large, down to a whole number of such quarters, but not below Window. 0 means Window
	// where that is given, else 1,024.
	MaxWindow int
	// WindowBytes bounds the same in payload bytes, so that a window of large
	// packets still fits the receiver's socket buffer. At least one packet is
	// always allowed.
	WindowBytes int
	// MaxWindowBytes is to MaxWindow what WindowBytes is to Window. 0 means WindowBytes where that is given, else 1 MiB.
	MaxWindowBytes int
	// AckEvery is the number of request packets after which one carries AckReq
	// even in the middle of a message. Every last packet of a message carries it.
	AckEvery int
	// ReadChunk is the largest number of response packets that one READ request
	// asks for. A longer READ is asked for in several requests with consecutive
	// PSNs; a responder cannot tell them from several shorter READs. It keeps the
	// responses within Window. 0 means half of the window, or all of it where
	// max_rd_atomic is 1. Two are the most where packets of one length leave together: see
	// [packet.Batch.Trains].
	ReadChunk int
	// BackoffLimit bounds the growth of the local ACK timeout: each timeout
	// without progress in between doubles the next one up to BackoffLimit times
	// the QP's. IBA 9.7.6.1.3 allows a time-out to be detected as late as four
	// times the programmed value. Range 1 to 4.
	BackoffLimit int
	// ProbeAfter is the shortest silence after which the oldest unacknowledged packet is
	// sent once more, before its timeout and without spending a retry, to a peer that was
	// seen to keep what came after a gap. It is longer where answers take longer.
	ProbeAfter Time
	// Congestion makes the congestion control of a queue pair. nil, of the field or as what it
	// returns, stands for the rules of Window and MaxWindow above.
	Congestion func() Congestion
}

// DefaultConfig returns the constants used where a Config leaves a field zero.
func DefaultConfig() Config {
	return Config{
		Window: 128, MaxWindow: 1024, WindowBytes: 256 << 10, MaxWindowBytes: 1 << 20,
		AckEvery: 32, BackoffLimit: 4, ProbeAfter: 200_000,
	}
}

// withDefaults returns c with its zero fields filled and its ranges enforced.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	c.Window, c.MaxWindow = withMost(c.Window, c.MaxWindow, d.Window, d.MaxWindow)
	c.WindowBytes, c.MaxWindowBytes = withMost(c.WindowBytes, c.MaxWindowBytes, d.WindowBytes, d.MaxWindowBytes)
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

// withMost fills in a size and the most that it may become, whose defaults are n and most.
func withMost(got, gotMost, n, most int) (int, int) {
	switch {
	case got <= 0 && gotMost <= 0:
		return n, most
	case got <= 0:
		got = min(n, gotMost)
	}
	return got, max(got, gotMost)
}

// AckTimeout returns the local ACK timeout for the 5-bit code of a QP, 4.096 µs ×
// 2^code (IBA 9.7.6.1.3), and 0 for code 0, which means no timeout at all.
func AckTimeout(code uint8) Time {
	if code == 0 {
		return 0
	}
	return 4096 << (code & 31)
}
