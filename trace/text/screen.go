package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The summary fits a terminal.
const (
	screenColumns = 80
	screenLines   = 40
)

// screen collects the sections of a summary.
type screen struct {
	SummaryOptions
	paint    paint
	sections [][]string
}

// section begins a section.
func (s *screen) section(lines ...string) { s.sections = append(s.sections, lines) }

// line adds a line to the section.
func (s *screen) line(format string, args ...any) {
	last := &s.sections[len(s.sections)-1]
	*last = append(*last, strings.TrimRight(fit(fmt.Sprintf(format, args...), screenColumns), " "))
}

// title begins a section with a line of column headings.
func (s *screen) title(format string, args ...any) {
	s.section()
	s.line(format, args...)
	last := s.sections[len(s.sections)-1]
	last[0] = s.paint.in(cyan, last[0])
}

// text returns the sections, separated by empty lines as far as there is room.
func (s *screen) text() string {
	lines := 0
	for _, section := range s.sections {
		lines += len(section)
	}
	var b strings.Builder
	for i, section := range s.sections {
		if i > 0 && lines < screenLines {
			b.WriteByte('\n')
			lines++
		}
		for _, l := range section {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// fit shortens s to n columns.
func fit(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// fitAddr shortens an address to n columns; the first and last characters remain.
func fitAddr(s string, n int) string {
	if len(s) <= n {
		return s
	}
	tail := n / 2
	return s[:n-1-tail] + "…" + s[len(s)-tail:]
}

// brief formats n with up to six characters.
func brief[N int64 | uint64](n N) string {
	if n < 1_000_000 {
		return fmt.Sprint(n)
	}
	x, unit := float64(n)/1e6, "M"
	for _, next := range []string{"G", "T", "P", "E"} {
		if x < 999.5 {
			break
		}
		x, unit = x/1e3, next
	}
	return fmt.Sprintf("%.3g%s", x, unit)
}

// wrap joins parts with commas in up to most lines of up to n columns.
func wrap(parts []string, n, most int) []string {
	var lines []string
	line := ""
	for i, p := range parts {
		if i < len(parts)-1 {
			p += ","
		}
		switch {
		case line == "":
			line = p
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(p) > n:
			lines, line = append(lines, line), p
		default:
			line += " " + p
		}
	}
	lines = append(lines, line)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = strings.TrimSuffix(lines[most-1], ",") + " …"
	}
	return lines
}
