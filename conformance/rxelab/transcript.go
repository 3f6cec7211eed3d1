package rxelab

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// transcript keeps what a program prints. It may be read while the program runs.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// maxTranscript bounds what is kept of a program that prints without end.
const maxTranscript = 1 << 20

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), max(0, maxTranscript-t.b.Len()))])
	return len(p), nil
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// watcher writes what passes to w and closes found when a text has passed.
type watcher struct {
	w     io.Writer
	text  []byte
	found chan struct{}

	mu   sync.Mutex
	tail []byte // the last len(text)-1 bytes
	err  error
	done bool
}

func watch(w io.Writer, text string) *watcher {
	return &watcher{w: w, text: []byte(text), found: make(chan struct{})}
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.tail = append(w.tail, p...)
		if bytes.Contains(w.tail, w.text) {
			w.done = true
			close(w.found)
		}
		w.tail = append(w.tail[:0], w.tail[max(0, len(w.tail)-len(w.text)+1):]...)
	}
	if w.err == nil {
		_, w.err = w.w.Write(p)
	}
	return len(p), w.err
}

// Err returns the first error of writing.
func (w *watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// lastLines returns the last lines of what a program printed, in one line.
func lastLines(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	return strings.Join(lines[max(0, len(lines)-3):], " / ")
}
