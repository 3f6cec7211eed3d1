//go:build !linux

package ringfile

import (
	"fmt"
	"runtime"
)

// New returns an error: doorbells and rings of other processes need Linux.
func New(string) (*File, error) {
	return nil, fmt.Errorf("ringfile: queues are shared with other processes on Linux only; this is %s", runtime.GOOS)
}

// File makes programs for other systems compile.
type File struct{}
