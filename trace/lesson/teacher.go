package lesson

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gorxe/gorxe/trace"
)

// Lesson says what one thing is for.
type Lesson struct {
	Key   string // stable
	Title string
	Text  string // two or three sentences
	Rule  string // where it is laid down
}

// entry is a lesson and the packets that it is about.
type entry struct {
	Lesson
	shown func(p *trace.Packet) bool
}

// Most is how many lessons a [Teacher] gives at one packet, if it is not told otherwise. The rest waits for the next packet that
// shows the same thing.
const Most = 3

// Teacher gives every lesson once.
type Teacher struct {
	most int
	left []entry
}

// NewTeacher returns a teacher that has told nothing. most is how many lessons it gives at one packet; 0 stands for [Most].
func NewTeacher(most int) *Teacher {
	if most <= 0 {
		most = Most
	}
	return &Teacher{most: most, left: slices.Clone(entries)}
}

// Teach returns the lessons that p, which an Analyzer has seen, is the first example of, what matters most at this packet first.
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

// All returns all lessons in the order of the subject.
func All() []Lesson {
	all := make([]Lesson, len(entries))
	for i, e := range entries {
		all[i] = e.Lesson
	}
	return all
}

// Append writes l to dst, in lines of at most width columns that begin with indent.
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
