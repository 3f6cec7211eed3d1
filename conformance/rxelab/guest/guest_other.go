//go:build !linux

package guest

import (
	"fmt"
	"os"
)

// Main says that the init of the virtual machine is a Linux program.
func Main() {
	fmt.Fprintln(os.Stderr, "this program is the init of the rxelab virtual machine and runs on Linux only")
	os.Exit(2)
}
