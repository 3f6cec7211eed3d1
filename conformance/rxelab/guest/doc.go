// Package guest is the part of the lab that runs inside the virtual machine: its init, which puts the host's file tree under a
// writable layer and makes it the root, and the agent, which runs commands for the host.
package guest
