// Package ucma answers the commands that librdmacm writes to the kernel's rdma_cm device, for a device of package
// verbs: connection identifiers of programs of other processes, whose events the programs fetch.
//
// The commands are those of package uapi, with the rules and errors of drivers/infiniband/core/ucma.c and cma.c. How
// they come here is not known to this package: see [Caller].
//
// A program is hostile. What it passes is checked before use; identifiers are found only through the channel that they
// belong to; the numbers of channels, identifiers and events are bounded.
package ucma
