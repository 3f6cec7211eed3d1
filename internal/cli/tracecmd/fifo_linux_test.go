package tracecmd

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/internal/cli/app"
)

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnInterruptionEndsTheWaitForTheWriterOfAFIFO(t *testing.T) {
	path := fifo(t)
	ctx, interrupt := context.WithCancel(t.Context())
	r := newWorld().Start(ctx, "trace "+path)
	interrupt()
	<-r.Done
	if r.Code != app.ExitInterrupted {
		t.Error(r)
	}
	// The remaining open call returns when the FIFO has a writer.
	if w, err := os.OpenFile(path, os.O_RDWR, 0); err != nil {
		t.Error(err)
	} else if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// As with a pipe on standard input, an output contains the frames so far, and a page is complete.
func TestAnInterruptionEndsTheWaitForMoreOfAFIFO(t *testing.T) {
	path, page := fifo(t), filepath.Join(t.TempDir(), "page.html")
	ctx, interrupt := context.WithCancel(t.Context())
	r := newWorld().Start(ctx, "trace --json --html "+page+" "+path)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Write(aConversation(t)); err != nil {
		t.Fatal(err)
	}
	for { // the page is created after the capture is opened
		if _, err := os.Stat(page); err == nil {
			break
		}
		runtime.Gosched()
	}
	interrupt()
	<-r.Done
	text, err := os.ReadFile(page)
	if n := strings.Count(r.Stdout.String(), `"type":"packet"`); r.Code != app.ExitInterrupted || n != 3 ||
		err != nil || !strings.HasSuffix(strings.TrimSpace(string(text)), "</html>") {
		t.Errorf("%d packets, a page of %d bytes, %v: %v", n, len(text), err, r)
	}
}
