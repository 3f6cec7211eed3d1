// Command rxelab-guest is the init and the agent of the lab's virtual machine. The lab builds it
// (static, for Linux) and packs it into the initramfs; it is not started manually.
package main

import "github.com/gorxe/gorxe/conformance/rxelab/guest"

func main() { guest.Main() }
