package json

import (
	"bytes"
	"io"
)

// escaping writes lines of JSON with DEL and the control characters U+0080 to U+009F as \u00XX, which [encoding/json] leaves as
// they are. A terminal may obey them: U+009B begins an escape sequence. In JSON they stand in strings alone.
type escaping struct {
	w io.Writer
	b []byte
}

func (e *escaping) Write(line []byte) (int, error) {
	i := control(line)
	if i < 0 {
		return e.w.Write(line)
	}
	const hex = "0123456789abcdef"
	e.b = e.b[:0]
	for rest := line; ; i = control(rest) {
		if i < 0 {
			e.b = append(e.b, rest...)
			break
		}
		e.b = append(e.b, rest[:i]...)
		c, n := rest[i], 1
		if c == c1Lead {
			c, n = rest[i+1], 2 // the second byte of these is the character
		}
		e.b = append(e.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		rest = rest[i+n:]
	}
	if _, err := e.w.Write(e.b); err != nil {
		return 0, err
	}
	return len(line), nil
}

// c1Lead is the first byte of the UTF-8 of U+0080 to U+00BF.
const c1Lead = 0xc2

// control returns where the first of the characters is that have to be escaped, -1 if there is none.
func control(b []byte) int {
	del := bytes.IndexByte(b, 0x7f)
	if del >= 0 {
		b = b[:del]
	}
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], c1Lead)
		if i < 0 || at+i+1 >= len(b) {
			return del
		}
		if at += i; b[at+1] < 0xa0 {
			return at
		}
		at += 2
	}
}
