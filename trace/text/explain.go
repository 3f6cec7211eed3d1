package text

import "github.com/gorxe/gorxe/trace"

const (
	lessonIndent = "           │ "
	lessonWidth  = 110
)

// explain writes the lessons for which p is the first example.
func (w *Writer) explain(p *trace.Packet) {
	for _, l := range w.teacher.Teach(p) {
		w.start(dim)
		w.b = l.Append(w.b, lessonIndent, lessonWidth)
		w.stop()
	}
}
