// Package text writes packets of a capture for people: a line each, and below it what else was asked for.
package text

import (
	"io"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fields"
	"github.com/gorxe/gorxe/trace/lesson"
)

// Options are what is written of a packet beside its line.
type Options struct {
	Fields  bool // every header field by its name in the IBA
	Hex     bool // the same with the bytes that they are in
	Payload bool // the bytes of the payload, which may be anybody's data
	Explain bool // what each thing is for, below the first packet that shows it
	Colour  bool // escape sequences for a terminal
}

// Writer writes packets. What it writes is held back until Flush, or until there is much of it.
type Writer struct {
	w      io.Writer
	o      Options
	b      []byte
	begin  time.Time // what times are counted from
	begun  bool
	ends   int // columns that the two addresses take
	fields []fields.Field
	err    error

	commented int // the latest frame whose comments were written

	teacher *lesson.Teacher // nil without Options.Explain
}

// flushAt is how much is held back.
const flushAt = 1 << 16

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer, o Options) *Writer {
	out := &Writer{w: w, o: o, b: make([]byte, 0, 2*flushAt), ends: minEnds}
	if o.Explain {
		out.teacher = lesson.NewTeacher(0)
	}
	return out
}

// Begin sets the time from which those of the packets are counted; without it that is the first packet's.
func (w *Writer) Begin(t time.Time) { w.begin, w.begun = t, true }

// Packet writes p. It returns the first error of the writer below, then and ever after.
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

// Flush writes what was held back.
func (w *Writer) Flush() error {
	if w.err == nil && len(w.b) > 0 {
		_, w.err = w.w.Write(w.b)
	}
	w.b = w.b[:0]
	return w.err
}

// colour is an escape sequence.
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

// plain writes text of a peer or a file, such as a comment of the capture; see [Plain].
func (w *Writer) plain(s string) { w.b = appendPlain(w.b, s) }
