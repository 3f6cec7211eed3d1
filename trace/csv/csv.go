// Package csv writes flows, messages and other rows of a trace as comma-separated values (RFC 4180,
// with a line of column names and CRLF).
//
// The columns are the members of the JSON objects of package json, in the same order and with the
// same names. Members of an object in an object are joined by underscores (rtt_min_ns), and those
// of an array have an index (ends_0_addr). A member that is absent in JSON is an empty cell. Text
// has the safe form of [text.Plain], with an apostrophe before it if it begins with a character
// that begins a formula in spreadsheets: =, +, - or @.
package csv

import (
	"encoding"
	"encoding/csv"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/json"
	"github.com/gorxe/gorxe/trace/text"
)

// Writer writes rows of one type. It buffers them until Flush.
type Writer struct {
	w      *csv.Writer
	of     reflect.Type
	record []string
}

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	return &Writer{w: c}
}

// Write writes v, a struct with JSON names or a pointer to one. The first call writes the column
// names, and all later ones must pass the same type.
func (w *Writer) Write(v any) error {
	x := reflect.Indirect(reflect.ValueOf(v))
	if x.Kind() != reflect.Struct || w.of != nil && w.of != x.Type() {
		return fmt.Errorf("csv: a row of type %T", v)
	}
	if w.of == nil {
		w.of = x.Type()
		if err := w.w.Write(names(nil, w.of, "")); err != nil {
			return err
		}
	}
	w.record = cells(w.record[:0], x)
	return w.w.Write(w.record)
}

// Flush writes buffered rows and returns the first error of the underlying writer.
func (w *Writer) Flush() error {
	w.w.Flush()
	return w.w.Error()
}

// Columns returns the column names of rows of the type of v.
func Columns(v any) []string { return names(nil, reflect.Indirect(reflect.ValueOf(v)).Type(), "") }

var (
	timeType  = reflect.TypeFor[time.Time]()
	textTypes = reflect.TypeFor[encoding.TextMarshaler]()
)

// names appends the column names of type t, which has the given name in its row.
func names(b []string, t reflect.Type, name string) []string {
	switch {
	case t.Kind() == reflect.Pointer:
		return names(b, t.Elem(), name)
	case isCell(t):
		return append(b, name)
	case t.Kind() == reflect.Array:
		for i := range t.Len() {
			b = names(b, t.Elem(), join(name, strconv.Itoa(i)))
		}
		return b
	}
	for _, f := range reflect.VisibleFields(t) {
		if tag, ok := member(f); ok {
			b = names(b, f.Type, join(name, tag))
		}
	}
	return b
}

func join(name, member string) string {
	if name == "" {
		return member
	}
	return name + "_" + member
}

// member returns the JSON name of f. ok is false if f is no column: it is not in the JSON form, or
// is an embedded struct, whose fields are visible themselves, or a slice or map, whose number of
// columns varies.
func member(f reflect.StructField) (name string, ok bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	kind := f.Type.Kind()
	return name, f.IsExported() && name != "-" && name != "" && !f.Anonymous && kind != reflect.Slice &&
		kind != reflect.Map
}

// isCell reports whether t is one cell.
func isCell(t reflect.Type) bool {
	return t == timeType || t.Implements(textTypes) || t.Kind() != reflect.Struct && t.Kind() != reflect.Array
}

// cells appends the cells of x.
func cells(b []string, x reflect.Value) []string {
	switch t := x.Type(); {
	case t.Kind() == reflect.Pointer && x.IsNil():
		for range names(nil, t, "") {
			b = append(b, "")
		}
		return b
	case t.Kind() == reflect.Pointer:
		return cells(b, x.Elem())
	case isCell(t):
		return append(b, cell(x))
	case t.Kind() == reflect.Array:
		for i := range x.Len() {
			b = cells(b, x.Index(i))
		}
		return b
	}
	for _, f := range reflect.VisibleFields(x.Type()) {
		if _, ok := member(f); ok {
			field := x.FieldByIndex(f.Index)
			if omitted(f, field) {
				b = append(b, "")
				continue
			}
			b = cells(b, field)
		}
	}
	return b
}

// omitted reports whether JSON omits the value x of f, a single cell.
func omitted(f reflect.StructField, x reflect.Value) bool {
	return strings.HasSuffix(f.Tag.Get("json"), ",omitempty") && x.Kind() != reflect.Pointer && isCell(f.Type) &&
		x.IsZero()
}

// cell formats a single value.
func cell(x reflect.Value) string {
	switch v := x.Interface().(type) {
	case time.Time:
		return v.Format(time.RFC3339Nano)
	case encoding.TextMarshaler:
		b, err := v.MarshalText()
		if err != nil {
			return ""
		}
		return plain(string(b))
	}
	switch x.Kind() {
	case reflect.String:
		return plain(x.String())
	case reflect.Bool:
		return strconv.FormatBool(x.Bool())
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(x.Float(), 'g', -1, 64)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64: // time.Duration: nanoseconds
		return strconv.FormatInt(x.Int(), 10)
	}
	return strconv.FormatUint(x.Uint(), 10)
}

// plain returns s in a form that neither terminals nor spreadsheets interpret.
func plain(s string) string {
	s = text.Plain(s)
	if s != "" && strings.IndexByte("=+-@", s[0]) >= 0 {
		return "'" + s
	}
	return s
}

// Flows writes a row for each flow. It is an output of a [trace.Pipeline].
type Flows struct{ *Writer }

// NewFlows returns a Flows that writes to w.
func NewFlows(w io.Writer) Flows { return Flows{NewWriter(w)} }

// Packet does nothing: Flows writes whole flows.
func (Flows) Packet(*trace.Packet) error { return nil }

// Flow writes the row of f.
func (w Flows) Flow(f *trace.Flow) error { return w.Write(json.Flow(f)) }

// Messages writes a row for each message, in the order in which they end. It is an output of a
// [trace.Pipeline].
type Messages struct{ *Writer }

// NewMessages returns a Messages that writes to w.
func NewMessages(w io.Writer) Messages { return Messages{NewWriter(w)} }

// Packet does nothing: Messages writes whole messages.
func (Messages) Packet(*trace.Packet) error { return nil }

// Message writes the row of m.
func (w Messages) Message(m *trace.Message) error { return w.Write(json.Message(m)) }
