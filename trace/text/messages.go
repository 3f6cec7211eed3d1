package text

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

// Messages writes one line per message: begin, verb, size, packets, latency, retransmissions and
// result. It is an output of a [trace.Pipeline]. Lines are in the order in which messages end.
type Messages struct {
	w     *bufio.Writer
	paint paint
	begin time.Time // time 0; zero until known
	begun bool      // the headings are written
}

// NewMessages returns a Messages that writes to w, first a line of headings. coloured enables
// terminal escape sequences.
func NewMessages(w io.Writer, coloured bool) *Messages {
	return &Messages{w: bufio.NewWriterSize(w, 1<<16), paint: paint(coloured)}
}

const messageColumns = "%-8s %12s  %-21s %-43s %10s %7s %10s  %-13s %s"

// Packet does nothing: Messages shows whole messages.
func (t *Messages) Packet(*trace.Packet) error { return nil }

// Begin sets the time of the first frame, which is time 0 of the lines. Without it, time 0 is the
// begin of the flow of the first message.
func (t *Messages) Begin(first time.Time) { t.begin = first }

// Message writes the line of m.
func (t *Messages) Message(m *trace.Message) error {
	if t.begin.IsZero() {
		t.begin = m.Flow.Begin
	}
	if !t.begun {
		t.begun = true
		if err := t.line("message", "time", "verb", "from → to", "bytes", "packets", "latency", "frames",
			""); err != nil {
			return err
		}
	}
	from, to := m.Flow.Ends[m.From], m.Flow.Ends[1-m.From]
	latency := "-"
	if m.HasLatency() {
		latency = short(m.Latency())
	}
	return t.line(fmt.Sprintf("%d.%d", m.Flow.Number, m.Number), fmt.Sprintf("%.6f", m.Begin.Sub(t.begin).Seconds()),
		m.Verb, end(from)+arrow+end(to), fmt.Sprint(m.Bytes), fmt.Sprint(m.Packets), latency, frames(m.Frames),
		t.remarks(m))
}

func (t *Messages) line(columns ...any) error {
	_, err := fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf(messageColumns, columns...), " "))
	return err
}

// Flush writes buffered output and returns the first error of the underlying writer.
func (t *Messages) Flush() error { return t.w.Flush() }

// remarks lists the problems of m, its role in the upper-layer protocol, and its work request and
// completion.
func (t *Messages) remarks(m *trace.Message) string {
	var r []string
	if m.Partial {
		r = append(r, "begins before the capture")
	}
	if m.Again > 0 {
		r = append(r, t.paint.warn(count(m.Again, "packet")+" retransmitted"))
	}
	switch {
	case m.Failed != "":
		r = append(r, t.paint.fail("failed: "+m.Failed))
	case m.Evicted:
		r = append(r, t.paint.warn("evicted: too many messages or flows"))
	case !m.Done && m.Flow.Service == bth.ServiceRC:
		r = append(r, t.paint.warn("no answer in the capture"))
	}
	if m.ULP != nil {
		role := m.ULP.String()
		if m.ULP.PDU.Status.Failed {
			role = t.paint.warn(role)
		}
		r = append(r, role)
	}
	if m.WR != "" {
		r = append(r, Plain(m.WR))
	}
	if m.WC != "" {
		r = append(r, "→ "+Plain(m.WC))
	}
	return strings.Join(r, "; ")
}

func frames(f [2]int) string {
	if f[0] == f[1] {
		return fmt.Sprint(f[0])
	}
	return fmt.Sprintf("%d-%d", f[0], f[1])
}

// end formats a queue pair.
func end(e trace.End) string {
	if e.QPN == 0 {
		return fabric.AddrText(e.Addr) + "/?"
	}
	return fmt.Sprintf("%s/0x%06x", fabric.AddrText(e.Addr), uint32(e.QPN))
}

// count formats a number and a noun, whose plural has an s.
func count[N int | uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// short formats a duration with three significant digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// paint reports whether lines are coloured.
type paint bool

func (p paint) warn(s string) string { return p.in(yellow, s) }
func (p paint) fail(s string) string { return p.in(red, s) }

func (p paint) in(c colour, s string) string {
	if !p {
		return s
	}
	return string(c) + s + reset
}
