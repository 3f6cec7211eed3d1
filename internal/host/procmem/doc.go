// Package procmem gives regions access to memory of other processes. [New] makes an
// [AddressSpace] from [Files] of a process, and [AddressSpace.Region] a [Region], a range of it
// that implements [mr.Memory], [mr.Vectored] and [mr.AtomicMemory]. Accesses go through the
// process's /proc/PID/mem. Linux only; elsewhere every call returns errors.ErrUnsupported.
//
// # Identity
//
// An open /proc/PID/mem refers to the address space that the process had when the file was
// opened, not to the PID. After execve, or after the process has ended, reads and writes transfer
// 0 bytes ([Gone]), whatever the PID names by then. An open /proc/PID/maps refers to its address
// space in the same way. After [New] nothing is opened or addressed by PID, so neither execve nor
// a reused PID can redirect an access. The kernel checks access rights when the two files are
// opened; a process that received the descriptors needs none.
//
// process_vm_readv and process_vm_writev copy large buffers about twice as fast (BenchmarkCopy),
// and many small ones in one call, but take a PID. After any check that the PID still names the
// address space, an execve can happen before the copy starts. No later check tells which address
// space was read, because the old one may still exist in a process that shares it. So direct copies
// are made only between AllowDirect and EndDirect, for a supervisor that learns of each execve
// before it happens, for example because it traps execve by seccomp. The PID cannot be reused while
// the process has not ended: the pidfd is polled before each write and after each read. Between the
// poll and the write the process could end and the kernel could cycle through all PIDs; the kernel
// would then check the rights of this process, so AllowDirect requires a process with the same
// rights. A program that bypasses the filter to execute another program (32-bit calls) can only
// redirect accesses to that program.
//
// Direct copies respect page protection, and fail for pages that were protected later. An access
// that direct copies did not complete is made through /proc/PID/mem.
//
// # Permissions
//
// The kernel accesses /proc/PID/mem with FOLL_FORCE: a write to a private read-only page succeeds
// on a copy of that page, and a page without PROT_READ can be read. [AddressSpace.Region] therefore
// checks the permissions in /proc/PID/maps, as ibv_reg_mr does when it pins pages. As with pinned
// pages, a later mprotect has no effect on the region, except where the kernel restricts FOLL_FORCE
// (proc_mem.force_override, Linux 6.12): there such accesses fail. A later munmap makes accesses
// fail ([Inaccessible]); a later mmap at the same addresses makes other pages of the program part
// of the region, whereas an RNIC would keep the old pages. After fork the region stays with the
// parent's pages.
//
// # Order and atomicity
//
// WriteFinalAt stores the last 8 bytes of a message in later system calls than the rest.
// WritePieces stores a final piece in a later system call or in a separate iovec of
// process_vm_writev. After each copy the kernel drops its reference to the page with a fully
// ordered atomic operation. With several remote iovecs it does so before it pins the page of the
// next iovec (process_vm_rw_core of mm/process_vm_access.c). So calls and iovecs become visible in
// order on every architecture. A piece of 1, 2, 4 or 8 bytes at its natural alignment is one copy
// of the kernel. On amd64 no partial store of a value was observed, but the kernel does not
// guarantee a single store.
//
// Atomics are a read and a write under the lock of an [Atomics], so they are atomic with respect
// to each other through all regions of the AddressSpaces that share it (IBV_ATOMIC_HCA), but
// neither with respect to the program's own atomic instructions nor to another program that maps
// the same shared memory. ATOMIC WRITE takes the lock too; a plain WRITE does not and may be lost
// between the read and the write of an atomic, which the IBA permits (9.4.5). A program may delay
// the holder of the lock without limit (see Faults): programs that do not trust each other must
// not share one.
//
// # Locks
//
// Atomics.mu serializes atomics, direct.mu delays EndDirect until no direct copy runs, and
// AddressSpace.mapsMu serializes readers of the text of maps. Reference counts keep the files
// open while an access runs.
//
// # Faults
//
// An access completes or returns an [*Error]; it is never silently short. Pages are not pinned:
// each access faults them in. A page of a file system in user space lets the program delay an
// access without limit, and the caller's goroutine waits as long: only SIGKILL ends the system
// call, and the end of the program does not end it either if another process serves the file
// system. Any user may mount such a file system in a user namespace.
//
// A page of a userfaultfd makes an access through /proc/PID/mem fail with EIO, because the kernel
// makes it without FAULT_FLAG_ALLOW_RETRY. A direct copy waits for such a page, but only if the
// userfaultfd handles faults of the kernel, which requires CAP_SYS_PTRACE or
// vm.unprivileged_userfaultfd (UFFD_USER_MODE_ONLY: EFAULT).
package procmem
