//go:build !linux

package cores

import (
	"fmt"
	"runtime"
)

// First returns an error: see the Linux version.
func First([]int) ([]int, error) {
	return nil, fmt.Errorf("cores are chosen on Linux; this is %s", runtime.GOOS)
}
