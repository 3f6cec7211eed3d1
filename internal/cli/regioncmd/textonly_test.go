package regioncmd

import (
	"bytes"
	"errors"
	"testing"
)

// write writes the pieces of a region and returns the output to a terminal.
func write(pieces ...[]byte) (string, error) {
	var out bytes.Buffer
	t := &textOnly{w: &out}
	for _, p := range pieces {
		if n, err := t.Write(p); err != nil {
			return out.String(), err
		} else if n != len(p) {
			return out.String(), errors.New("a short write")
		}
	}
	return out.String(), t.end()
}

// Wherever a region is divided into two or three pieces, the same text is accepted and the same
// bytes are rejected.
func TestTextIsJudgedAsAWholeWhereverItIsCut(t *testing.T) {
	for _, c := range []struct {
		name, text string
		refused    bool
	}{
		{name: "nothing"},
		{name: "ASCII", text: "a\tb\r\nc"},
		{name: "characters of two, three and four bytes", text: "ä→😀 ä→😀"},
		{name: "U+FFFD", text: "a\ufffdb"},
		{name: "U+00A0, the first behind the control characters", text: "a\u00a0b"},
		{name: "ESC", text: "a\x1b[2J", refused: true},
		{name: "NUL", text: "a\x00", refused: true},
		{name: "DEL", text: "a\x7fb", refused: true},
		{name: "CSI as U+009B", text: "text \u009b2J", refused: true},
		{name: "CSI as a byte", text: "text \x9b2J", refused: true},
		{name: "a byte that UTF-8 does not have", text: "a\xff", refused: true},
		{name: "Latin-1", text: "t\xe4xt", refused: true},
		{name: "two starts of a character", text: "\xc3\xc3\xa4", refused: true},
		{name: "a start and a continuation too many", text: "ä\xa4", refused: true},
		{name: "CSI in more bytes than it takes", text: "\xe0\x82\x9b", refused: true},
		{name: "half of a surrogate pair", text: "\xed\xa0\x80", refused: true},
		{name: "two bytes of a character of three at the end", text: "a\xe2\x86", refused: true},
		{name: "three bytes of a character of four at the end", text: "a\xf0\x9f\x98", refused: true},
		{name: "the end of a character at the beginning", text: "\x86\x92a", refused: true},
	} {
		for i := range len(c.text) + 1 {
			for j := i; j <= len(c.text); j++ {
				got, err := write([]byte(c.text[:i]), []byte(c.text[i:j]), []byte(c.text[j:]))
				if (err != nil) != c.refused || err != nil && err != errBinary {
					t.Errorf("%s, cut at %d and %d: %v", c.name, i, j, err)
				}
				if err == nil && got != c.text || !isText([]byte(got)) {
					t.Errorf("%s, cut at %d and %d: the terminal gets %q", c.name, i, j, got)
				}
			}
		}
	}
}

func TestAnErrorOfTheTerminalIsReturned(t *testing.T) {
	broken := errors.New("broken")
	for _, text := range []string{"a", "aä", "a\xc3"} {
		w := &textOnly{w: failing{broken}}
		if n, err := w.Write([]byte(text)); n != 0 || err != broken {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
}

// failing is a terminal that returns an error.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// The terminal gets the whole region if that is text, and otherwise only complete characters from
// its beginning.
func FuzzTextOnly(f *testing.F) {
	f.Add([]byte("text \xc2"), []byte("\x9b2J"))
	f.Add([]byte("\xf0\x9f"), []byte("\x98\x80"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		whole := append(bytes.Clone(a), b...)
		got, err := write(a, b)
		if (err == nil) != isText(whole) || err == nil && got != string(whole) || !isText([]byte(got)) ||
			!bytes.HasPrefix(whole, []byte(got)) {
			t.Errorf("%q and %q: the terminal gets %q, %v", a, b, got, err)
		}
	})
}
