package cli

import (
	"io"
	"os"
)

// style prints in colour, or not: see https://no-color.org.
type style struct{ on bool }

func newStyle(w io.Writer) style { return style{isTerminal(w) && os.Getenv("NO_COLOR") == ""} }

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string { return s.wrap("1", text) }

func (s style) dim(text string) string { return s.wrap("2", text) }

func (s style) green(text string) string { return s.wrap("32", text) }

func (s style) yellow(text string) string { return s.wrap("33", text) }

func (s style) red(text string) string { return s.wrap("31", text) }

func (s style) cyan(text string) string { return s.wrap("36", text) }
