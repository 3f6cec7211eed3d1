// Package ucma implements the kernel's rdma_cm device, to which librdmacm writes commands, for a
// device of package verbs. The connection identifiers belong to programs in other processes,
// which fetch their events.
//
// The commands are those of package uapi, with the rules and errors of
// drivers/infiniband/core/ucma.c and cma.c. A [Server] serves one device; [Server.Open] returns a
// [Channel] per open file, whose Write executes a command. [Caller] abstracts how commands get
// here.
//
// Programs are not trusted. Their arguments are checked before use; an identifier is accessible
// only through its channel; the numbers of channels, identifiers and events are limited.
//
// Server.mu guards all channels, identifiers and ports; see [Server].
package ucma
