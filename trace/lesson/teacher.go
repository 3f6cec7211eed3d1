package lesson

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gorxe/gorxe/trace"
)

// Lesson explains one concept.
type Lesson struct {
	Key   string // stable identifier
	Title string
	Text  string // two or three sentences
	Rule  string // source, such as "IBA 9.7.5.2"
}

// entry is a lesson and the condition for the packets that it explains.
type entry struct {
	Lesson
	shown func(p *trace.Packet) bool
}

// DefaultLimit is the default limit on the lessons that a [Teacher] returns for one packet.
// Remaining lessons are returned for a later packet.
const DefaultLimit = 3

// Teacher returns every lesson once.
type Teacher struct {
	most int
	left []entry
}

// NewTeacher returns a Teacher with all lessons left. most is the maximum number of lessons per
// packet; 0 means [DefaultLimit].
func NewTeacher(most int) *Teacher {
	if most <= 0 {
		most = DefaultLimit
	}
	return &Teacher{most: most, left: slices.Clone(entries)}
}

// Teach returns the lessons for which p is the first example, most important first. p must have
// been processed by an Analyzer.
func (t *Teacher) Teach(p *trace.Packet) []Lesson {
	var out []Lesson
	for i := 0; i < len(t.left) && len(out) < t.most; {
		if t.left[i].shown(p) {
			out = append(out, t.left[i].Lesson)
			t.left = slices.Delete(t.left, i, i+1)
		} else {
			i++
		}
	}
	return out
}

// All returns all lessons, in order of priority.
func All() []Lesson {
	all := make([]Lesson, len(entries))
	for i, e := range entries {
		all[i] = e.Lesson
	}
	return all
}

// Append appends l to dst, in lines of up to width columns that begin with indent.
func (l Lesson) Append(dst []byte, indent string, width int) []byte {
	dst = append(append(append(dst, indent...), l.Title...), '\n')
	column := 0
	for _, word := range strings.Fields(l.Text + " (" + l.Rule + ")") {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			dst = append(dst, indent...)
			column = utf8.RuneCountInString(indent)
		case column+1+n > width:
			dst = append(append(dst, '\n'), indent...)
			column = utf8.RuneCountInString(indent)
		default:
			dst = append(dst, ' ')
			column++
		}
		dst = append(dst, word...)
		column += n
	}
	return append(dst, '\n')
}
