package app

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// Profiled runs f and writes a CPU profile of it to file. If file is empty, it only runs f.
func Profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	to, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("--cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(to); err != nil {
		return errors.Join(fmt.Errorf("--cpuprofile: %w", err), to.Close())
	}
	err = f()
	pprof.StopCPUProfile()
	return errors.Join(err, to.Close())
}
