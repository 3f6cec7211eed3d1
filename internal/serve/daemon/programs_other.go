//go:build !linux

package daemon

import (
	"context"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/verbs"
)

// Programs does nothing: 'gorxe run' requires Linux.
type Programs struct{}

// Start does nothing.
func (*Programs) Start(context.Context, *Daemon) error { return nil }

// Drain does nothing.
func (*Programs) Drain(context.Context) error { return nil }

func (*Programs) event(*verbs.Device, verbs.AsyncEvent) {}

func (*Programs) describe(*control.Status) {}
