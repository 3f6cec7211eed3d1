package topcmd

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/gorxe/gorxe/internal/cli/app"
)

// Size of a terminal whose size is not known.
const (
	defaultWidth  = 80
	defaultHeight = 24
)

// ctrlC is the character of Ctrl-C, which the terminal passes on in raw mode.
const ctrlC = 3

// Control sequences of a terminal (ECMA-48, and xterm's alternate screen).
const (
	enter     = "\x1b[?1049h\x1b[?25l" // alternate screen, no cursor
	leave     = "\x1b[?25h\x1b[?1049l"
	home      = "\x1b[H"
	clearLine = "\x1b[K"
	clearRest = "\x1b[J"
)

// screen is a terminal on which each table replaces the previous one.
type screen struct {
	out     io.Writer
	keys    chan byte     // nil if there is no keyboard
	done    chan struct{} // closed by close
	restore func()
}

// openScreen switches to the alternate screen and, if standard input is a terminal, reads keys from
// it without echo.
func openScreen(a *app.App) (*screen, error) {
	s := &screen{out: a.Stdout, done: make(chan struct{}), restore: func() {}}
	in, isFile := a.Stdin.(*os.File)
	switch {
	case isFile && term.IsTerminal(int(in.Fd())):
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return nil, err
		}
		s.restore = func() { _ = term.Restore(int(in.Fd()), old) }
	case isFile || a.Stdin == nil: // a pipe or a file is no keyboard
		_, err := io.WriteString(s.out, enter)
		return s, err
	}
	s.keys = make(chan byte)
	go s.read(a.Stdin)
	_, err := io.WriteString(s.out, enter)
	return s, err
}

// read passes on the bytes of r until close or the end of r. A read that is blocked at the end
// stays blocked until the program ends.
func (s *screen) read(r io.Reader) {
	var b [1]byte
	for {
		if _, err := io.ReadFull(r, b[:]); err != nil {
			return
		}
		select {
		case s.keys <- b[0]:
		case <-s.done:
			return
		}
	}
}

// pressed returns the channel of keys, nil without a keyboard.
func (s *screen) pressed() <-chan byte {
	if s == nil {
		return nil
	}
	return s.keys
}

// draw shows a table. Lines end in a carriage return too, because of raw mode.
func (s *screen) draw(t *table, v view) error {
	width, height := defaultWidth, defaultHeight
	if f, ok := s.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			width, height = w, h
		}
	}
	v.width, v.rows = width, max(1, height-head-1)
	var b strings.Builder
	b.WriteString(home)
	for _, line := range t.render(v) {
		b.WriteString(line + clearLine + "\r\n")
	}
	b.WriteString(clearRest)
	_, err := io.WriteString(s.out, b.String())
	return err
}

// close restores the terminal.
func (s *screen) close() {
	close(s.done)
	_, _ = io.WriteString(s.out, leave)
	s.restore()
}
