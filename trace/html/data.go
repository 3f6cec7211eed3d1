package html

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

type flow struct {
	Number  int          `json:"n"`
	Service string       `json:"s"`
	Ends    [2][2]string `json:"e"` // address, queue pair
	Line    []string     `json:"l"` // most important facts, a few words each, by what costs the most time
	Facts   [][2]string  `json:"k"` // all facts, as name and value
	Err     string       `json:"x,omitempty"`
	Packets uint64       `json:"p"`           // in the capture
	LeftOut int          `json:"o,omitempty"` // number of its packets left out after the last one on the page
	Badness uint64       `json:"w"`           // for the order of connections: the worst has the highest
}

type message struct {
	Number int         `json:"n"`
	Verb   string      `json:"v"`
	Facts  [][2]string `json:"k"` // name and value
	Failed string      `json:"x,omitempty"`
	Frames [2]int      `json:"f"`
}

func flowOf(f *trace.Flow) flow {
	o := flow{Number: f.Number, Service: f.Service.String(), Err: f.Err, Line: []string{}, Facts: [][2]string{},
		Packets: f.Packets, Badness: badness(f)}
	for i, e := range f.Ends {
		o.Ends[i] = [2]string{fabric.AddrText(e.Addr), "QP " + hexOf(e.QPN, 6)}
		if e.QPN == 0 {
			o.Ends[i][1] = "QP not known"
		}
	}
	fact := func(name, value string) { o.Facts = append(o.Facts, [2]string{name, value}) }
	count := func(n uint64, one, many string) {
		if n > 0 {
			o.Line = append(o.Line, amount(n, one, many))
		}
	}
	count(f.Timeouts, "timeout", "timeouts")
	count(f.Undecided, "retransmission of unknown cause", "retransmissions of unknown cause")
	count(f.NAKs, "NAK", "NAKs")
	count(f.RNRs, "RNR NAK", "RNR NAKs")
	count(f.LostBefore, "lost before the capture point", "lost before the capture point")
	count(f.LostBehind, "lost behind it", "lost behind it")
	count(f.Again, "packet retransmitted", "packets retransmitted")
	count(f.CNPs, "CNP", "CNPs")
	count(f.CE, "packet with ECN CE", "packets with ECN CE")
	count(f.Messages, "message", "messages")

	if f.MTU > 0 {
		by := ", from packet lengths"
		if f.MTUExact {
			by = ", from the CM"
		}
		fact("Path MTU", strconv.Itoa(f.MTU)+" bytes"+by)
	}
	fact("Packets", fmt.Sprintf("%d, %s", f.Packets, size(f.Bytes)))
	fact("Payload", size(f.Payload))
	if took := f.Last.Sub(f.Begin); took > 0 && took != math.MaxInt64 {
		fact("Lasted", lasted(took))
	}
	if f.Active > 0 {
		fact("Active", lasted(f.Active)+", with requests outstanding")
		fact("Goodput", fmt.Sprintf("%.3g Mbit/s while active", float64(f.Payload)*8e3/float64(f.Active.Nanoseconds())))
	}
	if r := f.RTT; r.Count > 0 {
		fact("Round trip", fmt.Sprintf("%s to %s, %s on average of %d", lasted(r.Min), lasted(r.Max),
			lasted(r.Sum/time.Duration(r.Count)), r.Count))
	}
	if f.Window > 0 {
		fact("Max in flight", amount(uint64(f.Window), "packet", "packets"))
	}
	fact("Retransmitted", strconv.FormatUint(f.Again, 10))
	fact("Lost", fmt.Sprintf("%d before the capture point, %d behind it", f.LostBefore, f.LostBehind))
	if f.Duplicates > 0 {
		fact("Duplicated by the network", strconv.FormatUint(f.Duplicates, 10))
	}
	if m := f.CM; m != nil {
		manage(m, fact)
	}
	if f.Evicted {
		fact("Followed", "evicted: too many flows")
	}
	if f.BeganBefore {
		fact("Began", "before the capture")
	}
	return o
}

// badness returns a number that is higher the more time a flow lost: a failed one is worst;
// then count timeouts, NAKs, losses and retransmissions, and least congestion notifications.
func badness(f *trace.Flow) uint64 {
	n := 1000*(f.Timeouts+f.Undecided) + 100*(f.NAKs+f.RNRs) + 10*(f.LostBefore+f.LostBehind+f.Again) + f.CNPs
	if f.Err != "" {
		n += failedBadness
	}
	return min(n, maxBadness)
}

const (
	failedBadness = 1 << 50   // more than any sum of the other terms
	maxBadness    = 1<<53 - 1 // highest integer that JavaScript represents exactly
)

// manage calls fact for what is known about the CM exchange.
func manage(m *trace.Managed, fact func(name, value string)) {
	service := hexOf(m.ServiceID, 16)
	if m.Port != 0 {
		service = fmt.Sprintf("port %d of rdma_cm", m.Port)
	}
	fact("Service", service)
	if m.SetupTime > 0 {
		fact("Connected in", lasted(m.SetupTime))
	}
	if m.Retries > 0 {
		fact("CM retries", strconv.Itoa(m.Retries))
	}
	if m.Rejected != "" {
		fact("Rejected", m.Rejected)
	}
	if m.Ended {
		fact("Ended", "by the connection manager")
	}
}

func messageOf(m *trace.Message) message {
	o := message{Number: m.Number, Verb: m.Verb, Failed: m.Failed, Frames: m.Frames, Facts: [][2]string{}}
	fact := func(name, value string) { o.Facts = append(o.Facts, [2]string{name, value}) }
	fact("Size", size(m.Bytes))
	packets := amount(uint64(max(m.Packets, 0)), "packet", "packets")
	if m.Again > 0 {
		packets += fmt.Sprintf(", %d retransmitted", m.Again)
	}
	fact("Packets", packets)
	switch {
	case m.Done:
		fact("PSN", fmt.Sprintf("%d to %d", m.First, m.Last))
		after := "unknown time"
		if m.HasLatency() {
			after = lasted(m.Latency())
		}
		fact("Latency", after)
	default:
		fact("PSN", fmt.Sprintf("from %d on", m.First))
		fact("Answered", "no")
	}
	if m.Partial {
		fact("Begins", "before the capture")
	}
	if m.ULP != nil {
		fact("Upper layer", m.ULP.String())
	}
	if m.WR != "" {
		fact("Work request", m.WR)
	}
	if m.WC != "" {
		fact("Completion", m.WC)
	}
	return o
}

func amount(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// lasted formats a duration with four significant digits in a suitable unit.
func lasted(d time.Duration) string {
	if d.Abs() >= 1000*time.Second {
		return d.Round(time.Second).String()
	}
	for _, u := range []struct {
		name string
		of   time.Duration
	}{{"s", time.Second}, {"ms", time.Millisecond}, {"µs", time.Microsecond}} {
		if d.Abs() >= u.of {
			return fmt.Sprintf("%.4g %s", float64(d)/float64(u.of), u.name)
		}
	}
	return fmt.Sprintf("%d ns", d)
}

func size(n uint64) string {
	switch {
	case n < 10<<10:
		return amount(n, "byte", "bytes")
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}
