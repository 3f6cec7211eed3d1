// Package hostmem provides memory of the host for exported regions: anonymous memory, a file, or
// POSIX shared memory. [Memory] implements [github.com/gorxe/gorxe/mr.Memory] and is registered
// with RegMemory. Its methods are safe for concurrent use; a reference count delays the unmapping
// until no access is running.
//
// A file and shared memory are mapped, so local programs that map the same file see what peers
// write, and peers see what those programs write. The guarantees of package mr hold for such
// programs too: the last bytes of a WRITE, at most 8, become visible last; atomics and ATOMIC
// WRITE are single atomic instructions on the mapping.
//
// # Faults
//
// No access ends the process. A SIGBUS of the mapping (truncated file, full disk, broken disk) is
// caught in the access and becomes an error, [ErrLost]; the transport turns it into a NAK remote
// operational error for a peer and LOC_PROT_ERR for a work request of this host. When a truncated
// file grows again, accesses succeed again. An access fails only at the first lost byte: the bytes
// that a WRITE has stored before that byte remain, and the first packets of a READ may have been
// sent. Only the queue pair of the access goes to ERR; [Memory.Err] returns the cause. No code
// outside this package holds a pointer into a mapping, so every access is guarded. One exception:
// in a program built with the race detector an atomic is a C call, in which Go catches no fault, so
// truncating a file during an atomic ends that program.
//
// # Files
//
// The mapping refers to the file, not to its name: a file that is deleted, or replaced by another
// file of the same name, stays in use until [Memory.Close]; a new registration of the name finds
// the new file.
//
// An access may wait for the disk: to read a page that is not in memory, for write-back at the
// first write of a page, and in a FLUSH to persistence (msync) until it is done. FLUSH to global
// visibility does nothing, because written bytes are visible at once. While an access waits for the
// disk, all queue pairs of the same shard wait, and so do operations that need all shards.
package hostmem
