package text

import (
	"unicode"
	"unicode/utf8"
)

// Plain returns text from a peer or a file in a form that is safe to print. Terminals interpret
// control characters; other characters have no glyph or change the writing direction. Plain
// replaces line breaks and tabs with spaces, and all other characters that are not graphic, and
// bytes that are not UTF-8, with U+FFFD.
func Plain(s string) string { return string(appendPlain(nil, s)) }

// appendPlain appends Plain(s) to b.
func appendPlain(b []byte, s string) []byte {
	done := 0
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= ' ' && r < 0x7f {
			i++
			continue
		}
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if unicode.IsGraphic(r) && (r != utf8.RuneError || n > 1) {
			i += n
			continue
		}
		b = append(b, s[done:i]...)
		if r == '\n' || r == '\r' || r == '\t' {
			b = append(b, ' ')
		} else {
			b = append(b, "\ufffd"...)
		}
		i += n
		done = i
	}
	return append(b, s[done:]...)
}
