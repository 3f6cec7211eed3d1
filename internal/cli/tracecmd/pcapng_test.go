package tracecmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/trace/capture"
)

// commentsOf returns the comments of each frame of a capture.
func commentsOf(t *testing.T, file []byte) (out []string) {
	t.Helper()
	r, err := capture.Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Join(f.Comments, "|"))
	}
	return out
}

func TestTraceWritesACaptureWithComments(t *testing.T) {
	captured := aConversation(t)
	path := filepath.Join(t.TempDir(), "out.pcapng")
	w := newWorld()
	w.Stdin = bytes.NewReader(captured)
	r := w.Run(t.Context(), "trace --pcapng "+path)
	clitest.MustSucceed(t, "trace --pcapng", r)
	if r.Stdout.Len() > 0 {
		t.Errorf("there is text as well: %v", r)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := commentsOf(t, file)
	if len(c) != 3 || !strings.Contains(c[0], "SEND #1") || !strings.Contains(c[2], "error: ") {
		t.Errorf("%q", c)
	}
	w.Stdin = bytes.NewReader(captured)
	r = w.Run(t.Context(), "trace --pcapng - --filter nak")
	clitest.MustSucceed(t, "trace --pcapng -", r)
	if c := commentsOf(t, r.Stdout.Bytes()); len(c) != 1 || !strings.Contains(c[0], "frame 3 of the capture") {
		t.Errorf("%q", c)
	}
}

// Frames that are not RoCEv2 are counted in the frame numbers.
func TestTraceKeepsFramesThatItLeavesOut(t *testing.T) {
	captured := aConversation(t)
	captured[24+16+9] = 6 // the first is TCP
	w := newWorld()
	w.Stdin = bytes.NewReader(captured)
	r := w.Run(t.Context(), "trace --pcapng -")
	if c := commentsOf(t, r.Stdout.Bytes()); len(c) != 3 || c[0] != "" || c[1] == "" ||
		strings.Contains(c[1], "of the capture") {
		t.Errorf("%q, %v", c, r)
	}
}

func TestTraceDoesNotOverwriteTheCapture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcap")
	captured := aConversation(t)
	if err := os.WriteFile(path, captured, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newWorld().Run(t.Context(), "trace --pcapng "+path+" "+path)
	now, err := os.ReadFile(path)
	if r.Code != 1 || !strings.Contains(r.Stderr.String(), "that is the capture itself") || err != nil ||
		!bytes.Equal(now, captured) {
		t.Errorf("%v, %v", r, err)
	}
}
