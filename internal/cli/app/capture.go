package app

import "github.com/gorxe/gorxe/trace/capture"

// LiveCapture is a capture that runs until Close, which may be called at any time.
type LiveCapture interface {
	Next(*capture.Frame) error
	Dropped() uint64
	Close() error
}
