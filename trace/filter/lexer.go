package filter

import "strings"

type tokenKind uint8

const (
	end tokenKind = iota
	word
	operator // of a comparison
	punct    // parentheses, braces, comma, and the symbols for and, or, not
	quoted
)

type token struct {
	kind tokenKind
	text string // operators in symbol form
	at   int    // offset in the expression
}

type lexer struct {
	text string
	at   int
}

// signs are the operators and punctuation, longest first.
var signs = []struct {
	text string
	kind tokenKind
}{
	{"===", operator}, {"!==", operator}, {"==", operator}, {"!=", operator},
	{"<=", operator}, {">=", operator}, {"&&", punct}, {"||", punct},
	{"<", operator}, {">", operator}, {"!", punct}, {"(", punct}, {")", punct}, {"{", punct}, {"}", punct},
	{",", punct},
}

// words are the word forms of operators.
var words = map[string]token{
	"eq": {kind: operator, text: "=="}, "ne": {kind: operator, text: "!="}, "lt": {kind: operator, text: "<"},
	"le": {kind: operator, text: "<="}, "gt": {kind: operator, text: ">"}, "ge": {kind: operator, text: ">="},
	"and": {kind: punct, text: "&&"}, "or": {kind: punct, text: "||"}, "not": {kind: punct, text: "!"},
	"in": {kind: operator, text: "in"},
}

// next returns the next token. A character that begins no token is a word by itself.
func (l *lexer) next() token {
	for l.at < len(l.text) && strings.IndexByte(" \t\r\n", l.text[l.at]) >= 0 {
		l.at++
	}
	from := l.at
	if from == len(l.text) {
		return token{end, "the end", from}
	}
	rest := l.text[from:]
	for _, s := range signs {
		if strings.HasPrefix(rest, s.text) {
			l.at += len(s.text)
			return token{s.kind, s.text, from}
		}
	}
	if rest[0] == '"' {
		if n := strings.IndexByte(rest[1:], '"'); n >= 0 {
			l.at += n + 2
			return token{quoted, rest[1 : n+1], from}
		}
	}
	n := 0
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	l.at += max(n, 1)
	text := rest[:max(n, 1)]
	if t, ok := words[strings.ToLower(text)]; ok {
		t.at = from
		return t
	}
	return token{word, text, from}
}

// isWord reports whether c may be part of a word: a name, number, address or range.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.:/-%", c) >= 0
}
