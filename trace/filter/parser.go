package filter

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/trace"
)

// maxDepth limits the nesting of parentheses and negations.
const maxDepth = 200

type parser struct {
	lexer
	tok   token
	depth int
}

func (p *parser) advance() { p.tok = p.next() }

func (p *parser) is(kind tokenKind, text string) bool {
	return p.tok.kind == kind && p.tok.text == text
}

// errorf returns an error with the position of the current token.
func (p *parser) errorf(format string, args ...any) error {
	return p.errorAt(p.tok.at, format, args...)
}

func (p *parser) errorAt(at int, format string, args ...any) error {
	return fmt.Errorf("filter, at character %d: %s", at+1, fmt.Sprintf(format, args...))
}

// or parses one or more operands with the operator or between them; method and parses each operand,
// and method not the operands of and.
func (p *parser) or() (matcher, error) {
	left, err := p.and()
	for err == nil && p.is(punct, "||") {
		p.advance()
		a := left
		var b matcher
		b, err = p.and()
		left = func(p *trace.Packet) bool { return a(p) || b(p) }
	}
	return left, err
}

func (p *parser) and() (matcher, error) {
	left, err := p.not()
	for err == nil && p.is(punct, "&&") {
		p.advance()
		a := left
		var b matcher
		b, err = p.not()
		left = func(p *trace.Packet) bool { return a(p) && b(p) }
	}
	return left, err
}

// not parses a comparison, an expression in parentheses, or one of these after not.
func (p *parser) not() (matcher, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorf("more than %d parentheses inside each other", maxDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.is(punct, "!"):
		p.advance()
		m, err := p.not()
		return func(p *trace.Packet) bool { return !m(p) }, err
	case p.is(punct, "("):
		open := p.tok.at
		p.advance()
		m, err := p.or()
		if err != nil {
			return nil, err
		}
		if !p.is(punct, ")") {
			return nil, p.errorf("%s where the parenthesis of character %d should be closed", name(p.tok), open+1)
		}
		p.advance()
		return m, nil
	}
	return p.comparison()
}

// name describes a token for an error.
func name(t token) string {
	if t.kind == end {
		return "the expression ends"
	}
	return fmt.Sprintf("there is %q", t.text)
}

// comparison parses a field, followed by an operator and a value if the field takes them.
func (p *parser) comparison() (matcher, error) {
	if p.tok.kind != word {
		return nil, p.errorf("%s where a field is expected, such as qp, psn, opcode or error", name(p.tok))
	}
	f := fieldOf(p.tok.text)
	if f == nil {
		return nil, p.errorf("unknown field %q%s", p.tok.text, suggestion(p.tok.text))
	}
	p.advance()
	if f.is != nil {
		if p.tok.kind == operator || p.tok.kind == word {
			return nil, p.errorf("%s takes no value", f.names[0])
		}
		return f.is, nil
	}
	op := "=="
	switch p.tok.kind {
	case operator:
		if op = sameAs(p.tok.text); op != "==" && op != "!=" && op != "in" && f.numbers == nil {
			return nil, p.errorf("%s can only be compared with == and !=", f.names[0])
		}
		p.advance()
	case word, quoted:
	default:
		return f.present(), nil
	}
	if op == "in" {
		return p.set(f)
	}
	v, err := p.value(f)
	if err != nil {
		return nil, err
	}
	return f.compare(op, v), nil
}

// sameAs maps Wireshark's operators to their equivalents here.
func sameAs(op string) string {
	switch op {
	case "===":
		return "=="
	case "!==":
		return "!="
	}
	return op
}

// set parses the values of in.
func (p *parser) set(f *field) (matcher, error) {
	if !p.is(punct, "{") {
		return nil, p.errorf("%s where { is expected: field in {1, 2, 5..9}", name(p.tok))
	}
	p.advance()
	var values []value
	for {
		v, err := p.value(f)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
		if p.is(punct, ",") {
			p.advance()
		} else if p.is(punct, "}") {
			p.advance()
			break
		}
	}
	return func(p *trace.Packet) bool {
		return slices.ContainsFunc(values, func(v value) bool { return f.any(p, v) })
	}, nil
}

// value parses a value of f.
func (p *parser) value(f *field) (value, error) {
	if p.tok.kind != word && p.tok.kind != quoted {
		return value{}, p.errorf("%s where a value for %s is expected, such as %s", name(p.tok), f.names[0], f.example)
	}
	v, err := f.parse(p.tok.text)
	if err != nil {
		return value{}, p.errorf("%s: %v", f.names[0], err)
	}
	p.advance()
	return v, nil
}

// suggestion returns a hint with the field name most similar to text.
func suggestion(text string) string {
	best, least := "", 4
	for i := range fields {
		for _, n := range fields[i].names {
			if d := distance(strings.ToLower(text), n); d < least {
				best, least = n, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance returns the edit distance of a and b: insertions, deletions and substitutions.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := corner
			if a[i] != b[j] {
				d++
			}
			corner = row[j+1]
			row[j+1] = min(d, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
