package cli

import "github.com/gorxe/gorxe/trace"

// liveCapture is a capture that goes on until it is closed, which may be done at any time.
type liveCapture interface {
	Next(*trace.Frame) error
	Missed() uint64
	Close() error
}
