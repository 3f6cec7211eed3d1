package transport

// Time is a reading of a monotonic clock in nanoseconds.
type Time int64

// Config holds what the IBA leaves to the implementation. A zero field stands for
// the value of [DefaultConfig].
type Config struct {
	// Window is the largest number of PSNs a requester has unacknowledged, READ
	// responses included. Linux rxe uses 128. Range 1 to 2^22.
	//
	// A local ACK timeout halves what was unacknowledged, down to one packet, and every
	// acknowledgement lets as many more PSNs out as it covers, up to Window again. The IBA
	// leaves it open; without it, queue pairs that together overrun a slow receiver time out
	// together, and each repeats its whole window until retry_cnt is spent. NAKs, which say
	// that the peer hears, change nothing. A READ request is never made smaller than its
	// chunk: one is always allowed where nothing else is unacknowledged.
	Window int
	// WindowBytes bounds the same in payload bytes, so that a window of large
	// packets still fits the receiver's socket buffer. At least one packet is
	// always allowed.
	WindowBytes int
	// AckEvery is the number of request packets after which one carries AckReq
	// even in the middle of a message. Every last packet of a message carries it.
	AckEvery int
	// ReadChunk is the largest number of response packets that one READ request
	// asks for. A longer READ is asked for in several requests with consecutive
	// PSNs; a responder cannot tell them from several shorter READs. It keeps the
	// responses within Window. 0 means half of the window, or all of it where
	// max_rd_atomic is 1.
	ReadChunk int
	// BackoffLimit bounds the growth of the local ACK timeout: each timeout
	// without progress in between doubles the next one up to BackoffLimit times
	// the QP's. IBA 9.7.6.1.3 allows a time-out to be detected as late as four
	// times the programmed value. Range 1 to 4.
	BackoffLimit int
}

// DefaultConfig returns the constants used where a Config leaves a field zero.
func DefaultConfig() Config {
	return Config{Window: 128, WindowBytes: 256 << 10, AckEvery: 32, BackoffLimit: 4}
}

// withDefaults returns c with its zero fields filled and its ranges enforced.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	if c.Window <= 0 {
		c.Window = d.Window
	}
	if c.WindowBytes <= 0 {
		c.WindowBytes = d.WindowBytes
	}
	if c.AckEvery <= 0 {
		c.AckEvery = d.AckEvery
	}
	if c.BackoffLimit <= 0 {
		c.BackoffLimit = d.BackoffLimit
	}
	c.Window = min(c.Window, 1<<22)
	c.BackoffLimit = min(c.BackoffLimit, 4)
	return c
}

// AckTimeout returns the local ACK timeout for the 5-bit code of a QP, 4.096 µs ×
// 2^code (IBA 9.7.6.1.3), and 0 for code 0, which means no timeout at all.
func AckTimeout(code uint8) Time {
	if code == 0 {
		return 0
	}
	return 4096 << (code & 31)
}
