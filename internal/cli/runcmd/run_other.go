//go:build !linux || !(amd64 || arm64)

package runcmd

import (
	"context"
	"fmt"
	"runtime"

	"github.com/gorxe/gorxe/internal/cli/app"
)

func run(context.Context, *app.App, *params, []string) error { return errUnsupported }

func startDaemon(context.Context, string, []string) error { return errUnsupported }

var errUnsupported = fmt.Errorf("programs are run on Linux, amd64 and arm64, only; this is %s/%s", runtime.GOOS,
	runtime.GOARCH)
