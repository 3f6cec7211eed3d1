package summary

import (
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/congestion"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/latency"
)

// Report is the summary of a trace. Lists are sorted, the worst entry first.
type Report struct {
	Totals   Totals             `json:"totals"`
	Findings []Finding          `json:"findings"`
	Flows    []Flow             `json:"flows"`
	Hosts    []Host             `json:"hosts"`
	Pairs    []Pair             `json:"pairs"`
	Verbs    []latency.Verb     `json:"verbs"`
	Latency  []latency.Row      `json:"latency"` // those with the most messages first
	DSCPs    []congestion.Row   `json:"dscps"`
	Pauses   []congestion.Pause `json:"pauses"`
	Capture  Capture            `json:"capture"`
}

// Totals are sums over all selected packets and their flows.
type Totals struct {
	Begin    *time.Time    `json:"begin,omitempty"` // time of the first packet; nil if unknown
	Duration time.Duration `json:"duration_ns"`     // from the earliest to the latest packet
	Packets  uint64        `json:"packets"`         // RoCEv2 packets
	Bytes    uint64        `json:"bytes"`           // of these, from BTH to ICRC
	Payload  uint64        `json:"payload"`         // delivered bytes
	Flows    uint64        `json:"flows"`           //
	Failed   uint64        `json:"failed_flows"`    // flows with Flow.Err
	Troubled uint64        `json:"troubled_flows"`  // flows with losses, retransmissions, NAKs or CNPs
	Evicted  uint64        `json:"evicted_flows"`   // flows with Flow.Evicted
	Hosts    uint64        `json:"hosts"`           //
	Pairs    uint64        `json:"pairs"`           // pairs of hosts
	Messages uint64        `json:"messages"`        //
	Errors   uint64        `json:"errors"`          // findings of level Error
	Warnings uint64        `json:"warnings"`        // findings of level Warning
	Events   Events        `json:"events"`          // sums over all packets
	Omitted  uint64        `json:"omitted"`         // hosts and pairs beyond the limits
}

// Goodput returns the delivered payload in bits per second, 0 if the duration is unknown.
func (t *Totals) Goodput() float64 { return perSecond(t.Payload, t.Duration) }

func perSecond(bytes uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(bytes) * 8 / d.Seconds()
}

// Events are sums of [trace.Events].
type Events struct {
	Again      int64 `json:"again"`
	Duplicates int64 `json:"duplicates"`
	LostBefore int64 `json:"lost_before"`
	LostBehind int64 `json:"lost_behind"`
	NAKs       int64 `json:"naks"`
	RNRs       int64 `json:"rnrs"`
	CNPs       int64 `json:"cnps"`
	CE         int64 `json:"ce"`
	Timeouts   int64 `json:"timeouts"`
	Undecided  int64 `json:"undecided"`
}

// Lost returns the number of lost packets.
func (e *Events) Lost() int64 { return e.LostBefore + e.LostBehind }

// Finding summarizes the findings of one kind and level.
type Finding struct {
	Kind       trace.Kind  `json:"kind"`
	Level      trace.Level `json:"-"`
	LevelName  string      `json:"level"`
	Count      uint64      `json:"count"`
	Flows      uint64      `json:"flows"`       // flows with such a finding
	FirstFrame int         `json:"first_frame"` // frame of the first one
	Text       string      `json:"text"`        // text of the first one
	WorstFlow  int         `json:"worst_flow,omitempty"`
	WorstCount uint64      `json:"worst_count,omitempty"` // number in WorstFlow
	WorstHost  string      `json:"worst_host,omitempty"`  // address that sent most of the packets
	HostCount  uint64      `json:"host_count,omitempty"`  // number from WorstHost
}

// Flow is a flow with problems.
type Flow struct {
	Flow       int     `json:"flow"`
	Service    string  `json:"service"`
	Ends       [2]End  `json:"ends"`
	FirstFrame int     `json:"first_frame"`
	Packets    uint64  `json:"packets"`
	Payload    uint64  `json:"payload"`
	Events     Events  `json:"events"`
	Err        string  `json:"error,omitempty"`
	VNI        *uint32 `json:"vni,omitempty"` // see [trace.Flow]; nil if it has none
}

// End is a queue pair.
type End struct {
	Addr netip.Addr `json:"addr"`
	QPN  bth.QPN    `json:"qpn,omitempty"` // 0 if unknown
}

// Host is a host. Events are those of the packets that it sent or should have sent: its
// retransmissions, the losses of its packets, its timeouts, the CE marks on its packets and the
// CNPs that it received; NAKs and RNRs are those it received, too.
type Host struct {
	Addr     netip.Addr `json:"addr"`
	Flows    uint64     `json:"flows"`
	Payload  uint64     `json:"payload"` // of its flows, in both directions
	Warnings uint64     `json:"warnings"`
	Errors   uint64     `json:"errors"` // findings about packets that it sent
	Events   Events     `json:"events"`
	LostTo   int64      `json:"lost_to"`     // lost packets that were sent to it
	NAKsSent int64      `json:"naks_sent"`   //
	RNRsSent int64      `json:"rnrs_sent"`   //
	CNPsSent int64      `json:"cnps_sent"`   //
	CEFrom   int64      `json:"ce_received"` // packets with CE that were sent to it
}

// Pair is a pair of hosts. Src is the first end of its flows.
type Pair struct {
	Src     netip.Addr `json:"src"`
	Dst     netip.Addr `json:"dst"`
	Flows   uint64     `json:"flows"`
	Packets uint64     `json:"packets"`
	Payload uint64     `json:"payload"`
	Events  Events     `json:"events"`
	Failed  uint64     `json:"failed_flows"`
}

// Capture is the quality of the capture.
type Capture struct {
	Frames    uint64 `json:"frames"`
	Missing   uint64 `json:"missing"`    // packets that gorxe could not write
	Truncated uint64 `json:"truncated"`  // packets that were not captured completely
	WrongICRC uint64 `json:"icrc_wrong"` //
	Failed    uint64 `json:"malformed"`  // packets that could not be decoded
	Merged    uint64 `json:"merged"`     // frames with several packets (segmentation offload)
	Untimed   uint64 `json:"untimed"`    // frames without a time
	Clock     Clock  `json:"clock"`
	Copies    uint64 `json:"copies"` // packets that were captured at several points, without the first
	// Skipped are the frames without a RoCEv2 packet, by reason. Protocols are those of the frames
	// that have none because they are of another protocol, most frequent first.
	Skipped   map[string]uint64 `json:"skipped,omitempty"`
	Protocols []fabric.Count    `json:"protocols,omitempty"`
}

// Input is what a Pipeline has read.
type Input struct {
	trace.Counts
	Missing, Copies uint64         // results of the methods of Pipeline with these names
	Protocols       []fabric.Count // result of Pipeline.Protocols
}

// InputOf returns what p has read.
func InputOf(p *trace.Pipeline) Input {
	return Input{p.Counts(), p.Missing(), p.Copies(), p.Protocols()}
}

// Clock describes steps of the capture's clock. Small steps back come from captures that merge
// several queues or interfaces.
type Clock struct {
	Back    uint64        `json:"steps_back"` // frames whose time is before that of the previous one
	MaxBack time.Duration `json:"max_back_ns"`
	Jumps   uint64        `json:"jumps"` // frames more than JumpTime after the previous one
	MaxJump time.Duration `json:"max_jump_ns"`
}

// JumpTime is the time between two frames that counts as a jump of the clock. It may also be
// silence.
const JumpTime = 10 * time.Second
