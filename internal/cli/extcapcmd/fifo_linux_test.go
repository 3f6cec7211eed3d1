package extcapcmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/pcapng"
)

func newFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnInterruptEndsTheWaitForTheReaderOfAFIFO(t *testing.T) {
	path := newFIFO(t)
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := openFIFO(ctx, path); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// The remaining open call returns when the FIFO has a reader, whose open waits for it.
	if r, err := os.Open(path); err != nil {
		t.Error(err)
	} else if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Wireshark closes the FIFO when the capture is stopped.
func TestAReaderThatClosesTheFIFOEndsTheCaptureWithoutFailure(t *testing.T) {
	path := newFIFO(t)
	reader, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := openFIFO(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w := &frames{Writer: pcapng.NewWriter(out, pcapng.Options{})}
	if err := w.Flush(); err != nil {
		t.Error(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	err = errors.Join(w.Frame(&capture.Frame{Number: 1}), w.Flush())
	if err == nil || ended(err) != nil {
		t.Errorf("after the reader closed: %v", err)
	}
}
