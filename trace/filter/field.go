package filter

import (
	"net/netip"

	"github.com/gorxe/gorxe/trace"
)

// Field describes a field of the expression language.
type Field struct {
	Names     []string // synonyms
	What      string   // description; empty for Wireshark's fields
	Example   string   // example value; empty for fields without a value
	Wireshark bool     // only Wireshark has the field

	Type  Type
	Bits  int               // width of a Number
	Wraps bool              // ranges of a Number may wrap around
	Named map[string]uint64 // names of Numbers: lower case, without _, - and spaces; not to be modified
	Known []string          // the possible values of a Text; not to be modified

	of *field
}

// Type is the type of the values of a [Field].
type Type uint8

const (
	Flag    Type = iota // a property that a packet has or has not; without a value
	Number              // compared as unsigned numbers, or with ranges
	Address             // IP addresses, compared with addresses or networks
	Text                // one of a fixed set of words, compared without regard to case
)

// Fields returns all fields, gorxe's own first.
func Fields() []Field {
	out := make([]Field, len(fields))
	for i := range fields {
		f := &fields[i]
		out[i] = Field{
			Names: f.names, What: f.what, Example: f.example, Wireshark: i >= len(own),
			Type: f.kind(), Bits: f.bits, Wraps: f.around, Named: f.called, Known: f.known, of: f,
		}
	}
	return out
}

func (f *field) kind() Type {
	switch {
	case f.is != nil:
		return Flag
	case f.addrs != nil:
		return Address
	case f.texts != nil:
		return Text
	}
	return Number
}

// Has reports whether p has the property of f, a Flag, or a value of f, of another Type.
func (f Field) Has(p *trace.Packet) bool {
	if f.of.is != nil {
		return f.of.is(p)
	}
	return f.of.present()(p)
}

// Numbers appends p's values of f, a Number, to dst.
func (f Field) Numbers(dst []uint64, p *trace.Packet) []uint64 {
	v := f.of.numbers(p)
	return append(dst, v.v[:v.n]...)
}

// Addrs appends p's values of f, an Address, to dst.
func (f Field) Addrs(dst []netip.Addr, p *trace.Packet) []netip.Addr {
	v := f.of.addrs(p)
	return append(dst, v.v[:v.n]...)
}

// Texts appends p's values of f, a Text, to dst: those of f.Known that an expression can match. If
// p has only other values, Texts appends the empty string.
func (f Field) Texts(dst []string, p *trace.Packet) []string {
	_, some := f.of.texts(p, "")
	if !some {
		return dst
	}
	n := len(dst)
	for _, k := range f.Known {
		if is, _ := f.of.texts(p, k); is {
			dst = append(dst, k)
		}
	}
	if len(dst) == n {
		dst = append(dst, "")
	}
	return dst
}
