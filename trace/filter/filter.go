// Package filter selects packets with an expression, in its own syntax and that of Wireshark's
// display filters.
//
//	qp 0x11 and psn 100..200
//	addr 198.18.0.2 and not opcode RC_ACKNOWLEDGE
//	infiniband.bth.opcode == 10 || infiniband.aeth.syndrome >= 32
//	error or finding again_after_timeout
//
// A comparison is a field, one of == != < <= > >= (or eq ne lt le gt ge), and a value; the
// default operator is ==. A value is a number, an address (or a network, with /n), a name, or a
// range a..b; "in {a, b..c}" matches any of several. A field alone matches packets that have it.
// Comparisons are combined with and, or, not (&& || !) and parentheses; "and" binds stronger than
// "or".
//
// As in Wireshark, a comparison with a field that the packet does not have is false. If the
// packet has several values of a field, such as addr, == matches if any is equal and != if all
// differ.
package filter

import "github.com/gorxe/gorxe/trace"

// Filter is a parsed expression. The zero value matches everything.
type Filter struct {
	match matcher
	text  string
}

// matcher reports whether a packet matches.
type matcher func(*trace.Packet) bool

// Parse parses an expression; the empty one matches everything. An error tells the position and
// what was expected.
func Parse(text string) (*Filter, error) {
	p := parser{lexer: lexer{text: text}}
	p.advance()
	if p.tok.kind == end {
		return &Filter{}, nil
	}
	m, err := p.or()
	if err == nil && p.tok.kind != end {
		err = p.errorf("unexpected %q: combine comparisons with and, or", p.tok.text)
	}
	if err != nil {
		return nil, err
	}
	return &Filter{match: m, text: text}, nil
}

// Match reports whether p matches. It allocates nothing.
func (f *Filter) Match(p *trace.Packet) bool { return f.match == nil || f.match(p) }

// String returns the text of the expression.
func (f *Filter) String() string { return f.text }
