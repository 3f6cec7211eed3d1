package json

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// escaper escapes characters that encoding/json writes unchanged, although terminals interpret
// them or they change the writing direction: DEL, U+0080 to U+009F and all others that are not
// graphic. Text from a capture may contain them, and JSON is often displayed on a terminal. JSON
// parsers read the same text.
//
// Each Write must contain complete characters. Those of an Encoder do: it writes one value at a
// time.
type escaper struct {
	w io.Writer
	b []byte // buffer for escaped values
}

func (e *escaper) Write(p []byte) (int, error) {
	escaped := e.escape(p)
	if _, err := e.w.Write(escaped); err != nil {
		return 0, err
	}
	return len(p), nil
}

// escape returns p, or an escaped copy that is valid until the next call.
func (e *escaper) escape(p []byte) []byte {
	b, done := e.b[:0], 0
	for i := 0; i < len(p); {
		if p[i] < 0x7f { // encoding/json has escaped control characters; the final newline stays
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
