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
	Text  string // up to four sentences
	Rule  string // source, such as "IBA 9.7.5.2"
}

// entry is a lesson and the condition for the packets that it explains.
type entry struct {
	Lesson
	explains condition
}

// DefaultLimit is the default limit on the lessons that a [Teacher] returns for one packet. Each
// further lesson is postponed to a later packet that it explains.
const DefaultLimit = 3

// Teacher returns each lesson at most once.
type Teacher struct {
	limit int        // maximum number of lessons for a packet
	left  []untaught // in order of priority
}

// untaught is a lesson that has not been returned.
type untaught struct {
	entry
	postponed bool // it explains an earlier packet, which had the maximum number of lessons already
}

// matches reports whether l can be returned for p: it explains p, or it was postponed and p meets
// the condition in whenPostponed.
func (l *untaught) matches(p *trace.Packet) bool {
	if l.explains(p) {
		return true
	}
	if !l.postponed {
		return false
	}
	also := whenPostponed[l.Key]
	return also != nil && also(p)
}

// NewTeacher returns a Teacher with all lessons left. limit is the maximum number of lessons per
// packet; 0 means [DefaultLimit].
func NewTeacher(limit int) *Teacher {
	if limit <= 0 {
		limit = DefaultLimit
	}
	t := &Teacher{limit: limit, left: make([]untaught, len(entries))}
	for i, e := range entries {
		t.left[i].entry = e
	}
	return t
}

// Teach returns the lessons for which p is the first example, and the postponed lessons that match
// p, most important first. p must have been processed by an Analyzer.
func (t *Teacher) Teach(p *trace.Packet) []Lesson {
	var out []Lesson
	for i := 0; i < len(t.left); {
		switch l := &t.left[i]; {
		case !l.matches(p):
			i++
		case len(out) == t.limit:
			l.postponed = true
			i++
		default:
			out = append(out, l.Lesson)
			t.left = slices.Delete(t.left, i, i+1)
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
