package textfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAFileIsReadUpToItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{5: "012345", 9: "0123456789", 10: "0123456789", 100: "0123456789"} {
		if got, err := Read(t.Context(), link, limit); err != nil || string(got) != want {
			t.Errorf("limit %d: %q, %v; want %q", limit, got, err, want)
		}
	}
	if _, err := Read(t.Context(), path+".none", 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
}

// Opening a FIFO without a writer does not block.
func TestWhatIsNotARegularFileIsRefused(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		fifo:        "is a FIFO, not a regular file: give one",
		t.TempDir(): "is a directory, not a regular file: give one",
		"/dev/zero": "is a device or socket, not a regular file: give one",
	} {
		if _, err := Read(t.Context(), path, 10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// A pipe of a shell's <(...) is read to its end.
func TestAStreamIsReadToItsEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, dir := range []string{"/dev/fd", "/proc/self/fd"} {
		path := fmt.Sprintf("%s/%d", dir, r.Fd())
		if !isStream(path) {
			t.Errorf("%s is no stream", path)
		}
	}
	go func() {
		w.WriteString("some ")
		w.WriteString("text")
		w.Close()
	}()
	got, err := Read(t.Context(), fmt.Sprintf("/dev/fd/%d", r.Fd()), 100)
	if err != nil || string(got) != "some text" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAStreamThatSaysNothingIsReadUntilTheContextEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := Read(ctx, fmt.Sprintf("/dev/fd/%d", r.Fd()), 100)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want %v", err, context.Canceled)
	}
}
