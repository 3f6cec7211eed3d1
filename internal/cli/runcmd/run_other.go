//go:build !linux || !(amd64 || arm64)

package runcmd

import (
	"fmt"
	"runtime"

	"github.com/gorxe/gorxe/internal/cli/app"
)

func run(*app.App, *params, []string) error {
	return fmt.Errorf("programs are run on Linux, amd64 and arm64, only; this is %s/%s", runtime.GOOS, runtime.GOARCH)
}
