package join

import (
	"bufio"
	"encoding/json"
	"io"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/text"
)

// WriteJSON writes r as one JSON object per line. The member "type" is capture (two objects),
// clock, direction (in order of their first packets), loss (in order of time) or total (the last
// line). Durations are in nanoseconds. Frames are arrays: the frame in capture A, and that in B; 0
// means none.
func (r *Report) WriteJSON(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	for i, c := range r.Captures {
		if err := e.Encode(jsonCapture{"capture", string('A' + rune(i)), text.Plain(c.Name), c.Counts.Frames,
			c.Counts.Packets, optional(c.First), optional(c.Last), c.Copies}); err != nil {
			return err
		}
	}
	c, drift := &r.Clock, (*float64)(nil)
	if c.DriftKnown {
		drift = &c.Drift
	}
	if err := e.Encode(jsonClock{"clock", c.Fitted, c.Offset, drift, c.MinRTT, c.Bound, c.Unsteady,
		c.Samples}); err != nil {
		return err
	}
	index := map[*Direction]int{}
	for i, d := range r.Directions {
		index[d] = i + 1
		if err := e.Encode(jsonDirectionOf(i+1, d)); err != nil {
			return err
		}
	}
	for i := range r.Losses {
		l := &r.Losses[i]
		if err := e.Encode(jsonLoss{"loss", l.Where.String(), index[l.Direction], l.Time, l.Class, l.PSN, l.Frames,
			l.Next,
			l.NAKs, l.Again, l.Timeout}); err != nil {
			return err
		}
	}
	if err := e.Encode(jsonTotal{"total", jsonCountsOf(&r.Total), jsonDelayOf(r.Delays[0]), jsonDelayOf(r.Delays[1]),
		r.Omitted, r.Unjudged, r.Early}); err != nil {
		return err
	}
	return b.Flush()
}

type jsonCapture struct {
	Type    string     `json:"type"`
	Capture string     `json:"capture"`
	Name    string     `json:"name"`
	Frames  uint64     `json:"frames"`
	Packets uint64     `json:"packets"`
	First   *time.Time `json:"first,omitempty"`
	Last    *time.Time `json:"last,omitempty"`
	Copies  uint64     `json:"copies"`
}

type jsonClock struct {
	Type     string        `json:"type"`
	Fitted   bool          `json:"fitted"`
	Offset   time.Duration `json:"offset_ns"`
	Drift    *float64      `json:"drift_ppm,omitempty"`
	MinRTT   time.Duration `json:"min_rtt_ns"`
	Bound    time.Duration `json:"bound_ns"`
	Unsteady bool          `json:"unsteady"`
	Samples  [2]int        `json:"samples"`
}

type jsonCounts struct {
	Both      uint64 `json:"both"`
	Before    uint64 `json:"lost_before"`
	Between   uint64 `json:"lost_between"`
	Behind    uint64 `json:"lost_behind"`
	Unknown   uint64 `json:"lost_unknown"`
	MissedByA uint64 `json:"missed_by_a"`
	MissedByB uint64 `json:"missed_by_b"`
	Corrupt   uint64 `json:"corrupted"`
	Marked    uint64 `json:"ce_marked"`
	Outside   uint64 `json:"outside"`
	Late      uint64 `json:"late"`
}

func jsonCountsOf(c *Counts) jsonCounts {
	return jsonCounts{c.Both, c.Lost[Before], c.Lost[Between], c.Lost[Behind], c.Lost[Somewhere], c.Missed[0],
		c.Missed[1],
		c.Corrupt, c.Marked, c.Outside, c.Late}
}

type jsonDirection struct {
	Type      string     `json:"type"`
	Direction int        `json:"direction"`
	Src       netip.Addr `json:"src"`
	SrcQPN    bth.QPN    `json:"src_qpn,omitempty"`
	Dst       netip.Addr `json:"dst"`
	QPN       bth.QPN    `json:"qpn"`
	First     string     `json:"first,omitempty"`
	Hops      int        `json:"hops"`
	jsonCounts
	Delay *jsonDelay `json:"delay,omitempty"`
}

type jsonDelay struct {
	Count uint64        `json:"count"`
	Min   time.Duration `json:"min_ns"`
	P50   time.Duration `json:"p50_ns"`
	P99   time.Duration `json:"p99_ns"`
	Max   time.Duration `json:"max_ns"`
}

func jsonDirectionOf(n int, d *Direction) *jsonDirection {
	return &jsonDirection{"direction", n, d.Src, d.SrcQPN, d.Dst, d.QPN, d.First, d.Hops, jsonCountsOf(&d.Counts),
		jsonDelayOf(d.Delay)}
}

// jsonDelayOf returns nil without delays.
func jsonDelayOf(d Delay) *jsonDelay {
	if d.Count == 0 {
		return nil
	}
	return &jsonDelay{d.Count, d.Min, d.P50, d.P99, d.Max}
}

type jsonLoss struct {
	Type      string    `json:"type"`
	Where     string    `json:"where"`
	Direction int       `json:"direction"`
	Time      time.Time `json:"time"`
	Class     string    `json:"class"`
	PSN       bth.PSN   `json:"psn"`
	Frames    [2]int    `json:"frames"`
	Next      [2]int    `json:"next_frames"`
	NAKs      [2]int    `json:"nak_frames"`
	Again     [2]int    `json:"again_frames"`
	Timeout   bool      `json:"timeout"`
}

type jsonTotal struct {
	Type string `json:"type"`
	jsonCounts
	DelayAB  *jsonDelay `json:"delay_a_to_b,omitempty"`
	DelayBA  *jsonDelay `json:"delay_b_to_a,omitempty"`
	Omitted  uint64     `json:"omitted"`
	Unjudged uint64     `json:"unjudged"`
	Early    uint64     `json:"early"`
}

// optional returns nil for an unknown time, and for one that JSON cannot express.
func optional(t time.Time) *time.Time {
	if t.IsZero() || t.Year() > 9999 {
		return nil
	}
	return &t
}
