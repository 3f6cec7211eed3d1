// Package guest is the part of the lab that runs inside the virtual machine: its init, which
// mounts the host's file tree below a writable layer as the root, and the agent, which runs
// commands for the host. [Main] is both.
package guest
