package app

import "github.com/gorxe/gorxe/trace/capture"

// LiveCapture is a capture that goes on until it is closed, which may be done at any time.
type LiveCapture interface {
	Next(*capture.Frame) error
	Missed() uint64
	Close() error
}
