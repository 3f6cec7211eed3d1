//go:build !linux

// Hostile floods a device. It needs Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "hostile: floods and hosts are made on Linux only")
	os.Exit(1)
}
