//go:build !linux

package respond

import (
	"errors"
	"syscall"
)

// holdBack returns [errors.ErrUnsupported].
func holdBack(syscall.RawConn, []source) error { return errors.ErrUnsupported }
