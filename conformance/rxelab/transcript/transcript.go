// Package transcript keeps the output of a program while it runs. [Buffer] keeps it, [Watcher]
// searches it for a text.
package transcript

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// Buffer keeps the output of a program. It is safe for concurrent use.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// maxBuffer bounds the number of bytes kept.
const maxBuffer = 1 << 20

// Write implements io.Writer. It drops what exceeds maxBuffer.
func (t *Buffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), max(0, maxBuffer-t.b.Len()))])
	return len(p), nil
}

// String returns the output so far.
func (t *Buffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// Watcher forwards writes to w and closes Found when a text has been written.
type Watcher struct {
	w     io.Writer
	text  []byte
	Found chan struct{}

	mu   sync.Mutex
	tail []byte // last len(text)-1 bytes
	err  error
	done bool
}

// Watch returns a Watcher that searches for text.
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

// LastLines returns the last three lines of the output of a program as one line.
func LastLines(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}
