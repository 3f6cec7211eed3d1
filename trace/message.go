package trace

import (
	"time"

	"github.com/gorxe/gorxe/bth"
)

// Message is one message: what a work request asked for.
type Message struct {
	Number int // in its flow, from 1
	Flow   *Flow
	From   int // the index in Flow.Ends of who asked
	Verb   string
	Op     bth.Operation
	First  bth.PSN // of its first packet
	Last   bth.PSN // of its last; only valid if Complete or the length is known from a RETH
	// Bytes is the length: of WRITE and READ what the RETH says, of SEND what came so far.
	Bytes   uint64
	Packets int // request packets, or response packets of a READ
	Again   int // of them sent again
	Begin   time.Time
	End     time.Time // of the acknowledgement, or of the last response
	Frames  [2]int    // numbers of the first and the last frame of it
	Done    bool      // it was acknowledged or answered
	Failed  string    // why it failed, in words
	Partial bool      // the capture begins in its middle
	Cut     bool      // it was given up before its end because too many messages or flows were followed

	// WR and WC are what gorxe itself noted in a trace of its own: the work request and the completion it led to.
	WR, WC string

	chosen bool // a Pipeline has shown a packet of it
}

// Latency is the time from the first packet to the answer to the last; 0 while there is none, and where HasLatency is false.
func (m *Message) Latency() time.Duration {
	if !m.Done {
		return 0
	}
	return elapsed(m.Begin, m.End)
}

// HasLatency reports whether the message was answered, and the times in the capture tell after how long. They do not where the
// capture has no times, or its times go back.
func (m *Message) HasLatency() bool {
	return m.Latency() > 0 || m.Done && !m.End.IsZero() && m.End.Equal(m.Begin)
}
