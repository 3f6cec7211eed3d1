package text

import "github.com/gorxe/gorxe/trace/lesson"

const (
	lessonIndent = "           │ "
	lessonWidth  = 110
)

// Lesson writes what is to be learned from the packet that was written last.
func (w *Writer) Lesson(l lesson.Lesson) error {
	w.start(dim)
	w.b = l.Append(w.b, lessonIndent, lessonWidth)
	w.stop()
	return w.err
}
