// Command columns reports the lines of Go files that are too long: code of more than 120 columns,
// comments of more than 100. A tab counts 4 columns.
//
// Code may be longer where no break would help: in a line with a string literal that is too long
// for a line of its own, and inside a raw string. Comments may be longer if they are directives,
// the output of an example, or contain a word of more than 60 columns, such as an address.
//
// Usage: columns FILE...
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"strings"
	"unicode/utf8"
)

// Limits in columns.
const (
	maxCode    = 120
	maxComment = 100
	maxWord    = 60 // a comment with a word of more columns may be longer
	tabWidth   = 4
	behind     = 3 // brackets, operator and comma behind a string literal, with a space
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	long := 0
	for _, name := range os.Args[1:] {
		src, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "columns:", err)
			os.Exit(2)
		}
		for _, l := range check(src) {
			fmt.Fprintf(out, "%s:%d: %d columns, the limit is %d\n", name, l.number, l.columns, l.limit)
			long++
		}
	}
	out.Flush()
	if long > 0 {
		os.Exit(1)
	}
}

// longLine is a line with more columns than its limit.
type longLine struct{ number, columns, limit int }

// check returns the long lines of a Go file.
func check(src []byte) (long []longLine) {
	exempt := exemptLines(src)
	number, output := 0, false
	for line := range bytes.Lines(src) {
		number++
		text := strings.TrimSuffix(string(line), "\n")
		limit := maxCode
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "//") {
			limit = maxComment
			output = output || strings.HasPrefix(trimmed, "// Output:")
			if output || isDirective(trimmed) || longestWord(trimmed) > maxWord {
				continue
			}
		} else if output = false; exempt[number] {
			continue
		}
		if n := columns(text); n > limit {
			long = append(long, longLine{number, n, limit})
		}
	}
	return long
}

// columns returns the width of a line.
func columns(line string) (n int) {
	for _, r := range line {
		if r == '\t' {
			n += tabWidth - n%tabWidth
		} else {
			n++
		}
	}
	return n
}

// exemptLines returns the numbers of the lines whose code may be longer: those inside a raw string
// or a comment of several lines, and those with a string literal that is too long for a line.
func exemptLines(src []byte) map[int]bool {
	exempt := map[int]bool{}
	lines := strings.Split(string(src), "\n")
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return exempt
		}
		if tok != token.STRING && tok != token.COMMENT {
			continue
		}
		parts, first := strings.Split(lit, "\n"), file.Line(pos)
		for i := range parts[1:] {
			exempt[first+1+i] = true
		}
		if tok == token.STRING && !fits(lines[first-1], parts[0]) {
			exempt[first] = true
		}
	}
}

// fits reports whether a string literal of a line fits into a line of its own, which is indented
// further unless the literal begins the line. The value of a key stays behind the key: gofmt
// permits no break between them.
func fits(line, literal string) bool {
	before, _, _ := strings.Cut(line, literal)
	at := columns(before)
	if !strings.HasSuffix(strings.TrimRight(before, " "), ":") && strings.TrimLeft(before, "\t") != "" {
		at = columns(line) - columns(strings.TrimLeft(line, "\t")) + tabWidth
	}
	return at+columns(literal)+behind <= maxCode
}

// isDirective reports whether a comment is for a tool, such as go:generate.
func isDirective(comment string) bool {
	return len(comment) > 2 && comment[2] != ' ' && comment[2] != '\t'
}

// longestWord returns the columns of the longest word of a comment.
func longestWord(comment string) (n int) {
	for w := range strings.FieldsSeq(comment) {
		n = max(n, utf8.RuneCountInString(w))
	}
	return n
}
