package regioncmd

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// textOnly passes on UTF-8 text and refuses everything else, for a terminal that would obey it. Control
// characters are refused, except line breaks and tabs. Bytes that are not UTF-8 are refused too, because a
// terminal may take each for a character of its own: 0x9b is CSI in ISO 8859-1.
//
// A region arrives in pieces that end anywhere. A character that is not complete at the end of a Write
// is held until the next one, so that it is judged as a whole. The caller must call end after the last.
type textOnly struct {
	w    io.Writer
	held []byte // start of a character, shorter than utf8.UTFMax
}

var errBinary = errors.New("it is not UTF-8 text and standard output is a terminal: write it to a file with -o FILE, or send it through a pipe; -o - prints it all the same")

// Write passes p on if all of it is text, except a last character that is not complete.
func (t *textOnly) Write(p []byte) (int, error) {
	text := p
	if len(t.held) > 0 {
		text = append(t.held, p...)
	}
	whole := wholeRunes(text)
	if !isText(text[:whole]) {
		return 0, errBinary
	}
	if whole > 0 {
		if _, err := t.w.Write(text[:whole]); err != nil {
			return 0, err
		}
	}
	t.held = append(t.held[:0], text[whole:]...)
	return len(p), nil
}

// end returns an error if the last character was never completed.
func (t *textOnly) end() error {
	if len(t.held) > 0 {
		return errBinary
	}
	return nil
}

// wholeRunes returns the length of p without the start of a character at its end. Bytes that cannot
// become a character are not left out.
func wholeRunes(p []byte) int {
	for i := len(p) - 1; i >= 0 && i > len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}

// isText reports whether p is UTF-8 that a terminal only displays.
func isText(p []byte) bool {
	obeyed := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 }
	return utf8.Valid(p) && !bytes.ContainsFunc(p, obeyed)
}
