//go:build linux && (amd64 || arm64)

package programs

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/trap"
	"golang.org/x/sys/unix"
)

// Limits of channels of rdma_cm, each of which uses one descriptor of this process. Package
// uverbs has the limits of verbs.
const (
	// Each channel also uses one descriptor of the program, which is usually limited to 1024
	// descriptors. librdmacm opens one for each event channel, and one for each synchronous
	// identifier (rdma_create_ep).
	processChannels = 1 << 10
	// The part of this process's limit of descriptors that the channels of all processes may use.
	channelDescriptors = 1.0 / 8
)

// takeChannel counts one more channel of a process; giveChannel reverts that. The error names the
// exceeded limit.
func (h *Host) takeChannel(id trap.ProcID) (*process, error) {
	most := 128 // an eighth of the usual limit
	var d unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &d) == nil {
		most = int(channelDescriptors * float64(min(d.Cur, 1<<20)))
	}
	p := h.hold(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	switch {
	case p.channels >= processChannels:
		err = fmt.Errorf("the process has %d channels of rdma_cm: %w", p.channels, unix.EMFILE)
	case h.cmOpen >= most:
		err = fmt.Errorf("all processes have %d channels of rdma_cm: %w", h.cmOpen, unix.ENFILE)
	}
	if err != nil {
		h.unuse(p)
		return nil, err
	}
	p.channels++
	h.cmOpen++
	return p, nil
}

// giveChannel counts one channel less.
func (h *Host) giveChannel(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.channels--
	h.cmOpen--
	h.unuse(p)
}
