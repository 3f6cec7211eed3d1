package json

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escaper escapes the characters that a terminal obeys, or that change the direction of writing, and
// that encoding/json writes as they are: DEL, U+0080 to U+009F and all others that are not graphic. Text of
// a capture may have them, and JSON often goes to a terminal. Escaped, they are the same to a program.
//
// Each Write must be of whole characters, as those of an Encoder are: it writes one value at a time.
type escaper struct {
	w io.Writer
	b []byte // of the latest value that had something to escape
}

func (e *escaper) Write(p []byte) (int, error) {
	escaped := e.escape(p)
	if _, err := e.w.Write(escaped); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escape returns p, or a copy of it if there is something to escape. It is valid until the next call.
func (e *escaper) escape(p []byte) []byte {
	b, done := e.b[:0], 0
	for i := 0; i < len(p); {
		if p[i] < 0x7f { // encoding/json has escaped those below a space; there is a newline at the end
			i++
			continue
		}
		r, n := utf8.DecodeRune(p[i:])
		if !unicode.IsGraphic(r) {
			b = append(b, p[done:i]...)
			done = i + n
			if hi, lo := utf16.EncodeRune(r); hi != unicode.ReplacementChar {
				b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
			} else {
				b = fmt.Appendf(b, `\u%04x`, r)
			}
		}
		i += n
	}
	if done == 0 {
		return p
	}
	e.b = append(b, p[done:]...)
	return e.b
}
