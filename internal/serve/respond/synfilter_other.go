//go:build !linux

package respond

import (
	"errors"
	"syscall"
)

// dropSYNs returns [errors.ErrUnsupported].
func dropSYNs(syscall.RawConn, []source) error { return errors.ErrUnsupported }
