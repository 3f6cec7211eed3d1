// Package hostmem is memory of the host for regions that are exported: anonymous, a file, or
// POSIX shared memory. It is [github.com/gorxe/gorxe/mr.Memory], to be registered with
// RegMemory.
//
// A file and shared memory are mapped, so that local programs which map the same file see what
// peers write, and peers what those programs write. Towards such programs the promises of
// package mr hold: the last bytes of a WRITE, at most 8, become visible last; atomics and
// ATOMIC WRITE are single atomic instructions on the mapping.
//
// No access kills the process. What a mapping answers with SIGBUS (a file that has become
// shorter, a full disk, a broken one) is caught where the access is made and becomes an error,
// [ErrLost]; the transport makes of it NAK remote operational error for a peer and LOC_PROT_ERR
// for a work request of this host. A file that grows again is in reach again. Nothing outside
// this package holds a pointer into a mapping, so every path to the bytes is guarded. Only a
// program built with the race detector can die of a file that becomes shorter in the middle of
// an atomic: there that is a call of C, in which Go catches no fault.
//
// What is mapped is the file, not its name: a file that is deleted, or replaced by another of
// the same name, stays in use until [Memory.Close]; registering the name anew finds the other.
//
// An access may wait for the disk: a page that is not in memory is read, one that is written
// the first time may wait for write-back, and a FLUSH to persistence waits until it is done.
// The queue pairs of the shard, and what needs all shards, wait as long.
package hostmem
