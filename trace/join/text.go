package join

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/text"
)

// maxQuiet is the maximum number of directions without losses that WriteText lists.
const maxQuiet = 32

// WriteText writes r for people: the captures, their clocks, totals, a line for each direction, and
// a line for each loss. Of more than 32 directions, it lists those with losses only, worst first.
func (r *Report) WriteText(w io.Writer) error {
	b := bufio.NewWriterSize(w, 64<<10)
	for i, c := range r.Captures {
		fmt.Fprintf(b, "capture %c  %s  %s, %s\n", 'A'+i, text.Plain(c.Name), count(c.Counts.Frames, "frame"),
			count(c.Counts.Packets, "RoCEv2 packet"))
		if c.Copies > 0 {
			fmt.Fprintf(b, "capture %c  %s left out: an earlier frame has it, too, such as one of another interface\n",
				'A'+i, count(c.Copies, "packet"))
		}
	}
	for _, l := range r.clockLines() {
		fmt.Fprintln(b, "clock      "+l)
	}
	for i, d := range r.Delays {
		if d.Count > 0 {
			fmt.Fprintf(b, "delay      %s %s\n", [2]string{"A → B", "B → A"}[i], d.text())
		}
	}
	if x, y := r.Delays[0], r.Delays[1]; x.Count > 0 && y.Count > 0 {
		fmt.Fprintf(b, "asymmetry  above the minimum, which is assumed to be equal: B → A minus A → B p50 %v p99 %v\n",
			short(y.P50-y.Min-x.P50+x.Min), short(y.P99-y.Min-x.P99+x.Min))
	}
	for _, p := range r.Total.parts() {
		fmt.Fprintln(b, "total      "+p)
	}
	if r.Unjudged > 0 {
		fmt.Fprintf(b, "total      %s not judged: more than %d directions\n", count(r.Unjudged, "packet"),
			maxDirections)
	}
	if r.Early > 0 {
		fmt.Fprintf(b, "total      %s judged early: more than %d packets were waiting for the other capture\n",
			count(r.Early, "packet"), maxPending)
	}
	r.writeDirections(b)
	for i := range r.Losses {
		r.writeLoss(b, &r.Losses[i])
	}
	if r.Omitted > 0 {
		fmt.Fprintf(b, "%s are not listed\n", count(r.Omitted, "more event"))
	}
	return b.Flush()
}

// clockLines describes the fit.
func (r *Report) clockLines() []string {
	c := &r.Clock
	if !c.Fitted {
		missing := "packets in both directions"
		if r.Total.Both == 0 {
			missing = "any packet in both captures"
		}
		return []string{"offset unknown: needs " + missing + "; no delays"}
	}
	drift := "drift not measured: less than " + minDrift.String() + " in common, or too variable delays"
	if c.DriftKnown {
		drift = fmt.Sprintf("drift %+.3f ppm", c.Drift)
	}
	lines := []string{fmt.Sprintf("B is ahead of A by %v ± %v, %s", c.Offset, short(c.Bound), drift)}
	if c.Offset < 0 {
		lines[0] = fmt.Sprintf("B is behind A by %v ± %v, %s", -c.Offset, short(c.Bound), drift)
	}
	if c.Unsteady {
		return append(lines, fmt.Sprintf("no straight line fits: a clock was stepped or slewed; delays are wrong by "+
			"up to %v",
			short(-c.MinRTT)))
	}
	return append(lines, fmt.Sprintf("minimum round trip between A and B %v; assumed: half of it in each direction, "+
		"so every delay is accurate to ± %v", short(c.MinRTT), short(c.Bound)))
}

// lost returns the number of packets that did not simply pass both capture points.
func (c *Counts) lost() (n uint64) {
	for _, l := range c.Lost {
		n += l
	}
	return n + c.Missed[0] + c.Missed[1] + c.Corrupt
}

// writeDirections writes the lines of the directions.
func (r *Report) writeDirections(b *bufio.Writer) {
	shown := r.Directions
	if len(shown) > maxQuiet {
		shown = slices.DeleteFunc(slices.Clone(shown), func(d *Direction) bool { return d.Counts.lost() == 0 })
		slices.SortStableFunc(shown, func(x, y *Direction) int { return cmp.Compare(y.Counts.lost(), x.Counts.lost()) })
	}
	if n := len(r.Directions) - len(shown); n > 0 {
		fmt.Fprintf(b, "directions without a loss, not listed: %d\n", n)
	}
	for _, d := range shown {
		parts := d.Counts.parts()
		if d.Delay.Count > 0 {
			parts = append(parts, "delay "+d.Delay.text())
		}
		if d.Hops > 0 {
			parts = append(parts, count(uint64(d.Hops), "router")+" between")
		}
		path := "order of A and B unknown"
		switch d.First {
		case "A":
			path = "A → B"
		case "B":
			path = "B → A"
		}
		fmt.Fprintf(b, "direction  %s → %s  %s  %s\n", end(d.Src, d.SrcQPN), end(d.Dst, d.QPN), path,
			strings.Join(parts, ", "))
	}
}

// text describes d.
func (d Delay) text() string {
	return fmt.Sprintf("min %v p50 %v p99 %v max %v (above min: p50 %v p99 %v)", short(d.Min), short(d.P50),
		short(d.P99), short(d.Max), short(d.P50-d.Min), short(d.P99-d.Min))
}

// parts describes the numbers that are not 0.
func (c *Counts) parts() []string {
	parts := []string{count(c.Both, "packet") + " in both"}
	for _, x := range []struct {
		n    uint64
		what string
	}{
		{c.Lost[Before], "lost before the first point"}, {c.Lost[Between], "lost between"},
		{c.Lost[Behind], "lost behind the second point"}, {c.Lost[Somewhere], "lost at an unknown place"},
		{c.Corrupt, "corrupted between"}, {c.Marked, "marked CE between"},
		{c.Missed[0], "not lost, but missing in A"}, {c.Missed[1], "not lost, but missing in B"},
		{c.Late, "sent again although they had arrived"},
		{c.Outside, "while only one capture ran"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return parts
}

// places describes a loss, by order of the capture points: A first, B first, unknown.
var places = [...][3]string{
	Before:    {"lost before A", "lost before B", "lost"},
	Between:   {"lost between A and B", "lost between B and A", "lost"},
	Behind:    {"lost behind B", "lost behind A", "lost"},
	Somewhere: {"lost at an unknown place", "lost at an unknown place", "lost at an unknown place"},
	MissedByA: {"not lost, missing in A", "not lost, missing in A", "not lost, missing in A"},
	MissedByB: {"not lost, missing in B", "not lost, missing in B", "not lost, missing in B"},
}

// writeLoss writes the line of l.
func (r *Report) writeLoss(b *bufio.Writer, l *Loss) {
	d := l.Direction
	i := 2
	switch d.First {
	case "A":
		i = 0
	case "B":
		i = 1
	}
	at := "-"
	if from := r.Captures[0].First; !from.IsZero() {
		at = fmt.Sprintf("%.6f", l.Time.Sub(from).Seconds())
	}
	what := fmt.Sprintf("%s PSN %d", l.Class, l.PSN)
	if l.Class == classNames[acks] && l.Where == Behind {
		what = "response to PSN " + fmt.Sprint(l.PSN)
	}
	parts := []string{}
	for _, x := range []struct {
		what   string
		frames [2]int
	}{{"packet", l.Frames}, {"missing before", l.Next}, {"NAK", l.NAKs}, {"retransmitted", l.Again}} {
		if x.frames != [2]int{} {
			parts = append(parts, x.what+" "+framePair(x.frames))
		}
	}
	if l.Again == [2]int{} && l.Where <= Behind && l.Class == classNames[requests] {
		parts = append(parts, "no retransmission captured")
	}
	if l.Timeout && l.NAKs == [2]int{} {
		parts = append(parts, "after a timeout")
	}
	fmt.Fprintf(b, "%12s  %s  %s → %s  %s: %s\n", at, places[l.Where][i], end(d.Src, d.SrcQPN), end(d.Dst, d.QPN), what,
		strings.Join(parts, ", "))
}

// framePair formats the frame numbers of both captures.
func framePair(f [2]int) string {
	switch {
	case f[0] == 0:
		return fmt.Sprintf("B:%d", f[1])
	case f[1] == 0:
		return fmt.Sprintf("A:%d", f[0])
	}
	return fmt.Sprintf("A:%d B:%d", f[0], f[1])
}

// end formats a queue pair.
func end(a netip.Addr, q bth.QPN) string {
	if q == 0 {
		return fabric.AddrText(a) + "/?"
	}
	return fmt.Sprintf("%s/0x%06x", fabric.AddrText(a), uint32(q))
}

// count formats a number and a noun, whose plural has an s.
func count(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short formats a duration with three significant digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 || d/unit <= -1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
