//go:build !linux

package respond

import (
	"errors"
	"syscall"
)

// holdBack is not possible.
func holdBack(syscall.RawConn, []source) error { return errors.ErrUnsupported }
