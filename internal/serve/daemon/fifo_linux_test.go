package daemon

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/daemon/config"
)

// A FIFO without a writer must not delay the end of the daemon after a signal.
func TestAFIFOIsNoFileOfADaemon(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "is a FIFO, not a regular file: give one, or /dev/stdin"
	if _, err := config.Load(t.Context(), fifo); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the configuration: %v, want %q", err, want)
	}
	if _, err := planOf(t, fmt.Sprintf("service.perftest.payload = %q", fifo)); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("the payload: %v, want %q", err, want)
	}
}
