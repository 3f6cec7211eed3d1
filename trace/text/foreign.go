package text

import (
	"strconv"

	"github.com/gorxe/gorxe/trace"
)

// Foreign writes a line for a packet of another fabric protocol or a pause frame, and with
// Options.Fields or Options.Hex its header fields. It returns the first error of the underlying
// writer.
func (w *Writer) Foreign(f *trace.Foreign) error {
	if !w.begun {
		w.Begin(f.Time)
	}
	w.start(dim)
	from := len(w.b)
	w.b = strconv.AppendInt(w.b, int64(f.Number), 10)
	w.right(from, numberWidth)
	w.s("  ")
	w.instant(f.Time)
	w.stop()
	w.s("  ")
	src, dst := f.Ends()
	from = len(w.b)
	w.s(src)
	w.s(arrow)
	w.s(dst)
	used := len(w.b) - from
	w.ends = max(w.ends, used)
	w.fill(len(w.b), w.ends-used)
	w.s("  ")
	if f.Pause != nil {
		w.start(yellow)
	}
	w.plain(f.Meaning)
	if f.Pause != nil {
		w.stop()
	}
	w.b = append(w.b, '\n')
	if w.o.Fields || w.o.Hex {
		w.foreignFields(f)
	}
	if len(w.b) >= flushAt {
		return w.Flush()
	}
	return w.err
}

// foreignFields writes the encapsulations and the header fields, one per line.
func (w *Writer) foreignFields(f *trace.Foreign) {
	for i := range f.Outer {
		w.s(indent)
		w.start(cyan)
		w.s("Encapsulation ")
		w.stop()
		w.plain(f.Outer[i].String())
		w.b = append(w.b, '\n')
	}
	header := ""
	for _, v := range f.Fields() {
		if v.Header != header {
			header = v.Header
			w.s(indent)
			w.start(cyan)
			w.s(header)
			w.stop()
			w.b = append(w.b, '\n')
		}
		w.s(indent)
		from := len(w.b)
		w.s("  ")
		w.s(v.Name)
		w.fill(from, nameWidth)
		w.s(" ")
		w.plain(v.Value)
		w.b = append(w.b, '\n')
	}
}
