//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/internal/trap"
	"golang.org/x/sys/unix"
)

func TestAProcessHasALimitOfChannels(t *testing.T) {
	h := &Host{processes: map[trap.ProcID]*process{}}
	a, b := trap.ProcID{PID: 1}, trap.ProcID{PID: 2}
	var last *process
	for i := range processChannels {
		p, err := h.takeChannel(a)
		if err != nil {
			t.Fatalf("channel %d: %v", i, err)
		}
		last = p
	}
	if _, err := h.takeChannel(a); !errors.Is(err, unix.EMFILE) {
		t.Errorf("one more channel: %v", err)
	}
	p, err := h.takeChannel(b)
	if err != nil {
		t.Fatalf("a channel of another process: %v", err)
	}
	h.giveChannel(last)
	if _, err := h.takeChannel(a); err != nil {
		t.Errorf("a channel in the place of one that was closed: %v", err)
	}
	h.giveChannel(p)
	for range processChannels {
		h.giveChannel(last)
	}
	if len(h.processes) != 0 || h.cmOpen != 0 {
		t.Errorf("%d processes and %d channels are left", len(h.processes), h.cmOpen)
	}
}
