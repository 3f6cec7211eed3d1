package json

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

// message is the JSON object of a [trace.Message].
type message struct {
	Type     string     `json:"type"`
	Flow     int        `json:"flow,omitempty"`
	Message  int        `json:"message"`
	From     int        `json:"from"`
	Verb     string     `json:"verb"`
	FirstPSN bth.PSN    `json:"first_psn"`
	LastPSN  *bth.PSN   `json:"last_psn,omitempty"`
	Bytes    uint64     `json:"bytes"`
	Packets  int        `json:"packets"`
	Again    int        `json:"again"`
	Begin    *time.Time `json:"begin,omitempty"`
	End      *time.Time `json:"end,omitempty"`
	Latency  *int64     `json:"latency_ns,omitempty"`
	Frames   [2]int     `json:"frames"`
	Done     bool       `json:"done"`
	Failed   string     `json:"failed,omitempty"`
	Partial  bool       `json:"partial,omitempty"`
	ULP      *role      `json:"ulp,omitempty"`
	WR       string     `json:"wr,omitempty"`
	WC       string     `json:"wc,omitempty"`
}

// Message returns the value whose JSON form [Writer.Message] writes. Package csv takes its columns
// from it.
func Message(m *trace.Message) any { return messageOf(m) }

func messageOf(m *trace.Message) *message {
	o := &message{
		Type: "message", Message: m.Number, From: m.From, Verb: m.Verb, FirstPSN: m.First,
		Bytes: m.Bytes, Packets: m.Packets, Again: m.Again, Begin: instant(m.Begin), Frames: m.Frames,
		Done: m.Done, Failed: m.Failed, Partial: m.Partial, WR: m.WR, WC: m.WC,
	}
	if m.Flow != nil {
		o.Flow = m.Flow.Number
	}
	if m.Done {
		o.LastPSN, o.End = &m.Last, instant(m.End)
	}
	if m.ULP != nil {
		o.ULP = roleOf(m.ULP)
	}
	if m.HasLatency() {
		o.Latency = new(m.Latency().Nanoseconds())
	}
	return o
}
