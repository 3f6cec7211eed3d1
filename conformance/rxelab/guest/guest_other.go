//go:build !linux

package guest

import (
	"fmt"
	"os"
)

// Main reports that the init of the virtual machine needs Linux.
func Main() {
	fmt.Fprintln(os.Stderr, "this program is the init of the rxelab virtual machine and runs on Linux only")
	os.Exit(2)
}
