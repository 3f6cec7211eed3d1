//go:build !linux

package live

import (
	"errors"

	"github.com/gorxe/gorxe/trace/capture"
)

var errSystem = errors.New("capturing needs Linux; elsewhere: tcpdump -i INTERFACE -w - | gorxe trace")

// Capture is a live capture; not supported on this system.
type Capture struct{}

// Open always returns an error on this system.
func Open(string, func()) (*Capture, error) { return nil, errSystem }

// Next always returns an error on this system.
func (c *Capture) Next(*capture.Frame) error { return errSystem }

// Dropped always returns 0 on this system.
func (c *Capture) Dropped() uint64 { return 0 }

// Close does nothing on this system.
func (c *Capture) Close() error { return nil }
