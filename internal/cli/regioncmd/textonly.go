package regioncmd

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// textOnly passes on UTF-8 text and rejects everything else, because a terminal would execute
// control sequences. It rejects control characters except line breaks and tabs. It also rejects
// bytes that are not UTF-8, because a terminal may interpret each as a character: 0x9b is CSI in
// ISO 8859-1.
//
// A Write may end in the middle of a character. Such a partial character is held until the next
// Write, so that it is checked as a whole. The caller must call end after the last Write.
type textOnly struct {
	w    io.Writer
	held []byte // partial character, shorter than utf8.UTFMax
}

var errBinary = errors.New("it is not UTF-8 text and standard output is a terminal: write it to a file with -o FILE, or send it through a pipe; -o - prints it all the same")

// Write passes on p if all of it is text, except a partial character at the end.
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

// end returns an error if the last character is incomplete.
func (t *textOnly) end() error {
	if len(t.held) > 0 {
		return errBinary
	}
	return nil
}

// wholeRunes returns the length of p without a partial character at its end. Bytes that cannot
// become a character are included.
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

// isText reports whether p is UTF-8 without control characters for a terminal.
func isText(p []byte) bool {
	obeyed := func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 }
	return utf8.Valid(p) && !bytes.ContainsFunc(p, obeyed)
}
