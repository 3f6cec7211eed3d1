// Package transcript keeps what a program prints while it runs.
package transcript

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Buffer keeps what a program prints. It may be read while the program runs.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// maxBuffer bounds what is kept of a program that prints without end.
const maxBuffer = 1 << 20

// Write implements io.Writer. Beyond maxBuffer bytes it drops what it gets.
func (t *Buffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), max(0, maxBuffer-t.b.Len()))])
	return len(p), nil
}

// String returns what was kept so far.
func (t *Buffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Watcher writes what passes to w and closes Found when a text has passed.
type Watcher struct {
	w     io.Writer
	text  []byte
	Found chan struct{}

	mu   sync.Mutex
	tail []byte // the last len(text)-1 bytes
	err  error
	done bool
}

// Watch returns a Watcher that looks for text.
func Watch(w io.Writer, text string) *Watcher {
	return &Watcher{w: w, text: []byte(text), Found: make(chan struct{})}
}

// Write implements io.Writer.
func (w *Watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.tail = append(w.tail, p...)
		if bytes.Contains(w.tail, w.text) {
			w.done = true
			close(w.Found)
		}
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-len(w.text)+1):]...)
	}
	if w.err == nil {
		_, w.err = w.w.Write(p)
	}
	return len(p), w.err
}

// Err returns the first error of writing.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// LastLines returns the last lines of what a program printed, in one line.
func LastLines(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}
