// Package filter chooses packets by an expression, in words of its own and in those of Wireshark's display filters.
//
//	qp 0x11 and psn 100..200
//	addr 198.18.0.2 and not opcode RC_ACKNOWLEDGE
//	infiniband.bth.opcode == 10 || infiniband.aeth.syndrome >= 32
//	error or finding again_after_timeout
//
// A comparison is a field, one of == != < <= > >= (or eq ne lt le gt ge), and a value; without an operator == is meant. A value
// is a number, an address (with /n a network), a name, or a range a..b; "in {a, b..c}" asks for one of several. A field alone
// asks whether the packet has it. Comparisons are combined by and, or, not (&& || !) and parentheses; "and" binds stronger.
//
// As in Wireshark, a field that the packet does not have makes each comparison false, and where a packet has several values,
// as addr has, == asks for any of them and != that all differ.
package filter

import "github.com/gorxe/gorxe/trace"

// Filter is an expression. The zero value matches everything.
type Filter struct {
	match matcher
	text  string
}

// matcher decides of a packet.
type matcher func(*trace.Packet) bool

// Parse reads an expression; the empty one matches everything. The error says where it is wrong and what would be right.
func Parse(text string) (*Filter, error) {
	p := parser{lexer: lexer{text: text}}
	p.advance()
	if p.tok.kind == end {
		return &Filter{}, nil
	}
	m, err := p.or()
	if err == nil && p.tok.kind != end {
		err = p.errorf("%q is too much here: combine comparisons with and, or", p.tok.text)
	}
	if err != nil {
		return nil, err
	}
	return &Filter{match: m, text: text}, nil
}

// Match reports whether p is what the expression asks for. It allocates nothing.
func (f *Filter) Match(p *trace.Packet) bool { return f.match == nil || f.match(p) }

// String returns the expression as it was written.
func (f *Filter) String() string { return f.text }
