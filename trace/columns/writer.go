// Package columns writes the values of chosen fields, one line per packet, as tshark -T fields
// does. The fields are those of package filter, with Wireshark's names among them, and a few that
// only describe the frame; see [Names].
//
// A frame with several packets (see [trace.Packet]) has a line for each packet; tshark writes one
// line per frame.
package columns

import (
	"io"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/filter"
)

// Writer writes lines. It is an output of a [trace.Pipeline]. It buffers output until Flush or
// until there are 64 KiB.
type Writer struct {
	w       io.Writer
	o       Options
	columns []column
	b       []byte
	err     error

	headed   bool // the header line was written, or there is none
	begun    bool
	begin    time.Time // time of the first frame
	previous time.Time // time of the previous packet in the output

	value  []byte // values of one field, before quoting
	starts []int  // offsets of the values in value
	add    func(b []byte, index int) []byte
}

// column is a field: one of package filter, or one of frameFields.
type column struct {
	name   string
	filter *filter.Column
	frame  func(w *Writer, b []byte, p *trace.Packet) []byte
}

// flushAt is the size of the buffer that triggers Flush, in bytes.
const flushAt = 1 << 16

// New returns a Writer of the fields called names to w. The error names the first unknown field
// and the most similar one.
func New(w io.Writer, names []string, o Options) (*Writer, error) {
	out := &Writer{w: w, o: o, headed: !o.Header}
	for _, name := range names {
		c, err := find(name)
		if err != nil {
			return nil, err
		}
		out.columns = append(out.columns, c)
	}
	out.add = func(b []byte, _ int) []byte {
		out.starts = append(out.starts, len(b))
		return b
	}
	return out, nil
}

// Begin sets the time of the first frame. The default is the time of the first packet.
func (w *Writer) Begin(t time.Time) { w.begin, w.begun = t, true }

// Packet writes the line of p. It returns the first error of the underlying writer, also in all
// later calls.
func (w *Writer) Packet(p *trace.Packet) error {
	if !w.begun {
		w.Begin(p.Time)
	}
	if w.previous.IsZero() {
		w.previous = p.Time
	}
	w.header()
	for i := range w.columns {
		if i > 0 {
			w.b = append(w.b, w.o.Separator)
		}
		w.cell(&w.columns[i], p)
	}
	w.b = append(w.b, '\n')
	w.previous = p.Time
	if len(w.b) >= flushAt {
		return w.Flush()
	}
	return w.err
}

// header writes the names of the fields before the first line.
func (w *Writer) header() {
	if w.headed {
		return
	}
	w.headed = true
	for i := range w.columns {
		if i > 0 {
			w.b = append(w.b, w.o.Separator)
		}
		w.b = append(w.b, w.columns[i].name...)
	}
	w.b = append(w.b, '\n')
}

// cell writes the values of a field in p.
func (w *Writer) cell(c *column, p *trace.Packet) {
	w.starts = w.starts[:0]
	if c.filter != nil {
		w.value = c.filter.Append(w.value[:0], p, w.add)
	} else {
		w.value = c.frame(w, w.value[:0], p)
		if len(w.value) > 0 {
			w.starts = append(w.starts, 0)
		}
	}
	if len(w.starts) == 0 {
		return
	}
	w.quote()
	first, last := 0, len(w.starts)-1
	switch w.o.Occurrence {
	case First:
		last = 0
	case Last:
		first = last
	}
	for i := first; i <= last; i++ {
		if i > first {
			w.b = append(w.b, w.o.Aggregator)
		}
		end := len(w.value)
		if i+1 < len(w.starts) {
			end = w.starts[i+1]
		}
		for _, v := range w.value[w.starts[i]:end] {
			if w.b = append(w.b, v); v == w.o.Quote {
				w.b = append(w.b, v) // as in RFC 4180, section 2
			}
		}
	}
	w.quote()
}

// quote writes the quotation mark around values, if there is one.
func (w *Writer) quote() {
	if w.o.Quote != 0 {
		w.b = append(w.b, w.o.Quote)
	}
}

// Flush writes buffered output, with the header line even if there was no packet.
func (w *Writer) Flush() error {
	w.header()
	if w.err == nil && len(w.b) > 0 {
		_, w.err = w.w.Write(w.b)
	}
	w.b = w.b[:0]
	return w.err
}
