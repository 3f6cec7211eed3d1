// Package text writes the packets of a capture as text: one line per packet, and below it the
// details selected by [Options].
package text

import (
	"io"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fields"
	"github.com/gorxe/gorxe/trace/lesson"
)

// Options select the details below the line of a packet.
type Options struct {
	Fields  bool // header fields with their IBA names
	Hex     bool // header fields with their bytes
	Payload bool // bytes of the payload, which may be confidential
	Explain bool // lessons at the first packet that demonstrates each
	Colour  bool // terminal escape sequences
	Times   Times
}

// Writer writes packets. It is an output of a [trace.Pipeline]. It buffers output until Flush or
// until there are 64 KiB.
type Writer struct {
	w      io.Writer
	o      Options
	b      []byte
	begin  time.Time // time 0 of the time column
	begun  bool
	latest time.Time // time of the latest packet, for Delta
	ends   int       // width of the address column
	fields []fields.Field
	err    error

	commented int // latest frame whose comments were written

	teacher *lesson.Teacher // nil without Options.Explain
}

// flushAt is the size of the buffer that triggers Flush, in bytes.
const flushAt = 1 << 16

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer, o Options) *Writer {
	out := &Writer{w: w, o: o, b: make([]byte, 0, 2*flushAt), ends: minEnds}
	if o.Explain {
		out.teacher = lesson.NewTeacher(0)
	}
	return out
}

// Begin sets time 0 of the time column. The default is the time of the first packet.
func (w *Writer) Begin(t time.Time) { w.begin, w.begun = t, true }

// Packet writes p. It returns the first error of the underlying writer, also in all later calls.
func (w *Writer) Packet(p *trace.Packet) error {
	if !w.begun {
		w.Begin(p.Time)
	}
	w.line(p)
	if w.o.Fields || w.o.Hex {
		w.details(p)
	}
	if w.o.Payload {
		w.payload(p)
	}
	if w.teacher != nil {
		w.explain(p)
	}
	if len(w.b) >= flushAt {
		return w.Flush()
	}
	return w.err
}

// Flush writes buffered output.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.b) > 0 {
		_, w.err = w.w.Write(w.b)
	}
	w.b = w.b[:0]
	return w.err
}

// colour is a terminal escape sequence.
type colour string

const (
	dim    colour = "\x1b[2m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	red    colour = "\x1b[31m"
	cyan   colour = "\x1b[36m"
	reset         = "\x1b[0m"
)

func (w *Writer) start(c colour) {
	if w.o.Colour {
		w.b = append(w.b, c...)
	}
}

func (w *Writer) stop() {
	if w.o.Colour {
		w.b = append(w.b, reset...)
	}
}

func (w *Writer) s(s string) { w.b = append(w.b, s...) }

// plain writes text from a peer or a file, such as a comment, in the safe form of [Plain].
func (w *Writer) plain(s string) { w.b = appendPlain(w.b, s) }
