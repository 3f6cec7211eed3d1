package columns

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/filter"
	"github.com/gorxe/gorxe/trace/text"
)

// frameFields are the fields that expressions do not have. Times are in seconds with nine
// decimals, as in tshark; a frame without a time has none.
var frameFields = []struct {
	name, what string
	append     func(w *Writer, b []byte, p *trace.Packet) []byte
}{
	{"frame.time_epoch", "seconds since 1970-01-01 00:00 UTC", func(_ *Writer, b []byte, p *trace.Packet) []byte {
		return appendSeconds(b, p.Time, p.Time.Unix(), p.Time.Nanosecond())
	}},
	{"frame.time_relative", "seconds since the first frame", func(w *Writer, b []byte, p *trace.Packet) []byte {
		return appendDuration(b, p.Time, w.begin)
	}},
	{"frame.time_delta_displayed", "seconds since the previous packet in the output",
		func(w *Writer, b []byte, p *trace.Packet) []byte { return appendDuration(b, p.Time, w.previous) }},
	{"frame.len", "bytes of the frame on the wire", func(_ *Writer, b []byte, p *trace.Packet) []byte {
		return strconv.AppendInt(b, int64(max(p.Frame.Length, len(p.Frame.Data))), 10)
	}},
	{"frame.cap_len", "captured bytes of the frame", func(_ *Writer, b []byte, p *trace.Packet) []byte {
		return strconv.AppendInt(b, int64(len(p.Frame.Data)), 10)
	}},
	{"frame.interface_name", "name of the interface", func(_ *Writer, b []byte, p *trace.Packet) []byte {
		return append(b, text.Plain(p.Frame.Interface)...)
	}},
	{"meaning", "what the packet does in its conversation", func(_ *Writer, b []byte, p *trace.Packet) []byte {
		return append(b, text.Plain(p.Meaning)...)
	}},
}

// Field is a field that a Writer can write and that package filter does not have.
type Field struct{ Name, What string }

// FrameFields returns the fields that package filter does not have.
func FrameFields() (out []Field) {
	for _, f := range frameFields {
		out = append(out, Field{f.name, f.what})
	}
	return out
}

// find returns the field called name. Case does not matter.
func find(name string) (column, error) {
	lower := strings.ToLower(name)
	for _, f := range frameFields {
		if f.name == lower {
			return column{name: name, frame: f.append}, nil
		}
	}
	c, err := filter.NewColumn(name)
	return column{name: name, filter: c}, err
}

// Check returns an error for the first of names that is not a field.
func Check(names []string) error {
	for _, n := range names {
		if _, err := find(n); err != nil {
			return err
		}
	}
	return nil
}

// Names returns the names of all fields, sorted.
func Names() []string {
	var all []string
	for _, f := range frameFields {
		all = append(all, f.name)
	}
	for _, f := range filter.Fields() {
		all = append(all, f.Names...)
	}
	slices.Sort(all)
	return all
}

// appendDuration appends to minus from in seconds, nothing if to is zero.
func appendDuration(b []byte, to, from time.Time) []byte {
	d := to.Sub(from)
	if d < 0 && !to.IsZero() {
		b = append(b, '-')
		if d = -d; d < 0 {
			d = 1<<63 - 1
		}
	}
	return appendSeconds(b, to, int64(d/time.Second), int(d%time.Second))
}

// appendSeconds appends s seconds and ns nanoseconds, nothing if t is zero.
func appendSeconds(b []byte, t time.Time, s int64, ns int) []byte {
	if t.IsZero() {
		return b
	}
	b = strconv.AppendInt(b, s, 10)
	at := len(b)
	b = strconv.AppendInt(b, int64(1_000_000_000+ns), 10) // the leading 1 becomes the point
	b[at] = '.'
	return b
}
