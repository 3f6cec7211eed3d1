package text

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/ulp"
)

// Flows writes one line per connection: its ends, CM exchange, path MTU, throughput, RTT, losses,
// packets in flight, RNR NAKs and errors. It is an output of a [trace.Pipeline].
type Flows struct {
	w     *bufio.Writer
	paint paint
}

// NewFlows returns a Flows that writes to w. coloured enables terminal escape sequences.
func NewFlows(w io.Writer, coloured bool) *Flows {
	return &Flows{w: bufio.NewWriterSize(w, 1<<16), paint: paint(coloured)}
}

// Packet does nothing: Flows shows whole flows.
func (t *Flows) Packet(*trace.Packet) error { return nil }

// Flow writes the line of f.
func (t *Flows) Flow(f *trace.Flow) error {
	parts := []string{fmt.Sprintf("flow %d", f.Number), f.Service.String(), end(f.Ends[0]) + arrow + end(f.Ends[1])}
	if f.HasVNI {
		parts = append(parts, fmt.Sprintf("VNI %d", f.VNI))
	}
	parts = append(parts, t.began(f)...)
	if f.ULP != ulp.None {
		parts = append(parts, f.ULP.String())
	}
	if f.MTU > 0 {
		how := "seen"
		if f.MTUExact {
			how = "agreed"
		}
		parts = append(parts, fmt.Sprintf("MTU %d %s", f.MTU, how))
	}
	parts = append(parts, throughput(f))
	if r := f.RTT; r.Count > 0 {
		parts = append(parts, fmt.Sprintf("RTT min %s avg %s max %s of %s", short(r.Min),
			short(r.Sum/time.Duration(r.Count)), short(r.Max), count(r.Count, "sample")))
	}
	if f.Window > 0 {
		parts = append(parts, "max in flight "+count(f.Window, "packet"))
	}
	parts = append(parts, t.troubles(f)...)
	_, err := fmt.Fprintln(t.w, strings.Join(parts, "  "))
	return err
}

// Flush writes buffered output and returns the first error of the underlying writer.
func (t *Flows) Flush() error { return t.w.Flush() }

// began describes how the connection was established, as far as known.
func (t *Flows) began(f *trace.Flow) []string {
	m := f.CM
	switch {
	case m == nil && f.BeganBefore:
		return []string{"began before the capture"}
	case m == nil:
		return nil
	}
	s := "CM"
	if m.ServiceID != 0 {
		s += " to " + trace.ServiceName(mad.ServiceID(m.ServiceID))
	}
	switch {
	case m.Rejected != "":
		s += " rejected"
	case m.SetupTime > 0:
		s += " in " + short(m.SetupTime)
	case f.Ends[1].QPN == 0:
		s += " not answered"
	}
	if m.Retries > 0 {
		s += t.paint.warn(" with " + count(m.Retries, "message") + " retransmitted")
	}
	if m.Ended {
		s += ", ended"
	}
	return []string{s}
}

// throughput describes the amount of data and the goodput.
func throughput(f *trace.Flow) string {
	s := count(f.Messages, "message") + ", " + count(f.Packets, "packet") + ", " + size(f.Payload)
	took := f.Last.Sub(f.Begin)
	if took <= 0 || took == math.MaxInt64 { // unknown times
		return s
	}
	if f.Active <= 0 || f.Active > took || f.Payload == 0 {
		return s + " in " + short(took)
	}
	s += " in " + short(f.Active) + ": " + rate(float64(f.Payload)*8/f.Active.Seconds())
	if idle := took - f.Active; idle > took/10 {
		s += ", idle " + short(idle)
	}
	return s
}

func size(n uint64) string {
	switch {
	case n < 10_000:
		return count(n, "byte")
	case n < 10_000_000:
		return fmt.Sprintf("%.4g kB", float64(n)/1e3)
	case n < 10_000_000_000:
		return fmt.Sprintf("%.4g MB", float64(n)/1e6)
	case n < 10_000_000_000_000:
		return fmt.Sprintf("%.4g GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.4g TB", float64(n)/1e12)
}

func rate(bits float64) string {
	switch {
	case bits < 1e6:
		return fmt.Sprintf("%.3g kbit/s", bits/1e3)
	case bits < 1e9:
		return fmt.Sprintf("%.3g Mbit/s", bits/1e6)
	}
	return fmt.Sprintf("%.3g Gbit/s", bits/1e9)
}

// troubles lists the problems of f.
func (t *Flows) troubles(f *trace.Flow) []string {
	var r []string
	for _, x := range []struct {
		n    uint64
		what string
		rest string
	}{
		{f.LostBefore, "packet", " lost before the capture point"},
		{f.LostBehind, "packet", " lost behind the capture point"}, {f.Again, "packet", " retransmitted"},
		{f.Duplicates, "packet", " duplicated by the network"}, {f.Timeouts, "timeout", ""},
		{f.Undecided, "retransmission", " of unknown cause"}, {f.NAKs, "NAK", ""}, {f.RNRs, "RNR NAK", ""},
		{f.CE, "packet", " marked (ECN CE)"}, {f.CNPs, "CNP", ""},
	} {
		if x.n > 0 {
			r = append(r, t.paint.warn(count(x.n, x.what)+x.rest))
		}
	}
	if len(r) == 0 && f.Service == bth.ServiceRC && f.Messages > 0 {
		r = append(r, "nothing lost")
	}
	if f.Evicted {
		r = append(r, t.paint.warn("evicted: too many flows"))
	}
	if f.Err != "" {
		r = append(r, t.paint.fail("failed: "+f.Err))
	}
	return r
}
