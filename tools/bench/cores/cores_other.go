//go:build !linux

package cores

import (
	"fmt"
	"runtime"
)

// First returns the core of each end.
func First([]int) ([]int, error) {
	return nil, fmt.Errorf("cores are chosen on Linux; this is %s", runtime.GOOS)
}
