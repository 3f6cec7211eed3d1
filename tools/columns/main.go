// Command columns reports the lines of Go files that are too long: code of more than 120 columns,
// comments of more than 100. A tab counts 4 columns.
//
// Code may be longer where a break would not help: in a line with a string literal of more than
// 60 columns, and inside a raw string. Comments may be longer if they are directives, the output
// of an example, or contain a word of more than 60 columns, such as an address.
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
	unbroken   = 60 // a string literal or a word of more columns may exceed the others
	tabWidth   = 4
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
	literal := literals(src)
	number, output := 0, false
	for line := range bytes.Lines(src) {
		number++
		text := strings.TrimSuffix(string(line), "\n")
		limit := maxCode
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "//") {
			limit = maxComment
			output = output || strings.HasPrefix(trimmed, "// Output:")
			if output || isDirective(trimmed) || longestWord(trimmed) > unbroken {
				continue
			}
		} else if output = false; literal[number] > unbroken {
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

// literals returns the columns of the longest string literal of each line, by number. A line of a
// literal or comment of several lines counts as longer than any limit.
func literals(src []byte) map[int]int {
	found := map[int]int{}
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return found
		case token.STRING, token.COMMENT:
			first, more := file.Line(pos), strings.Count(lit, "\n")
			n := utf8.RuneCountInString(lit)
			if tok == token.COMMENT && more == 0 {
				continue
			}
			if more > 0 {
				n = unbroken + 1
			}
			for i := first; i <= first+more; i++ {
				found[i] = max(found[i], n)
			}
		}
	}
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
