package app

import (
	"io"
	"os"
)

// Style prints in colour if it is on; see https://no-color.org.
type Style struct{ On bool }

// NewStyle returns the style for w: on if w is a terminal and NO_COLOR is not set.
func NewStyle(w io.Writer) Style { return Style{IsTerminal(w) && os.Getenv("NO_COLOR") == ""} }

func (s Style) wrap(code, text string) string {
	if !s.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold returns text in bold.
func (s Style) Bold(text string) string { return s.wrap("1", text) }

// Dim returns text dimmed.
func (s Style) Dim(text string) string { return s.wrap("2", text) }

// Green returns text in green.
func (s Style) Green(text string) string { return s.wrap("32", text) }

// Yellow returns text in yellow.
func (s Style) Yellow(text string) string { return s.wrap("33", text) }

// Red returns text in red.
func (s Style) Red(text string) string { return s.wrap("31", text) }

// Cyan returns text in cyan.
func (s Style) Cyan(text string) string { return s.wrap("36", text) }
