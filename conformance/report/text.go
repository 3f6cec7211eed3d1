package report

import (
	"regexp"
	"strings"

	"github.com/gorxe/gorxe/trace/text"
)

// maxDetail limits a detail, note or error in bytes.
const maxDetail = 4 << 10

// more marks a text that was cut.
const more = "…"

// clean returns s as one line that is safe to print, of up to n bytes.
func clean(s string, n int) string {
	s = text.Plain(strings.TrimSpace(s))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n-len(more)], "") + more
	}
	return s
}

// cleanLines returns the last lines of s, of up to n bytes, each safe to print.
func cleanLines(s string, n int) string {
	s = s[max(0, len(s)-16*n):] // Plain shortens little
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(text.Plain(l), " ")
	}
	s = strings.Join(lines, "\n")
	if len(s) > n {
		s = more + strings.ToValidUTF8(s[len(s)-n+len(more):], "")
	}
	return s
}

// unsafeInName matches what a file name or anchor does not contain.
var unsafeInName = regexp.MustCompile(`[^0-9A-Za-z_.]+`)

// maxKey limits the result of key in bytes.
const maxKey = 64

// key returns a name for a file or an anchor.
func key(s string) string {
	s = unsafeInName.ReplaceAllString(s, "-")
	return strings.Trim(s[:min(len(s), maxKey)], "-.")
}
