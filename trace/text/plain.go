package text

import (
	"unicode"
	"unicode/utf8"
)

// Plain returns text from a peer or a file in a form that is safe to print: a terminal obeys control
// characters, and others have no glyph or change the direction of writing. A line break or tab becomes
// a space; any other character that is not graphic, and every byte that is not UTF-8, becomes U+FFFD.
func Plain(s string) string { return string(appendPlain(nil, s)) }

// appendPlain appends Plain of s.
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
