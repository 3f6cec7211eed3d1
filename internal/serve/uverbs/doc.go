// Package uverbs answers the calls that libibverbs makes to the kernel's ib_uverbs, for a device of package verbs: its
// objects belong to a program of another process, which maps its queues and registers its own memory.
//
// The calls are those of package uapi, with the errors of drivers/infiniband/core/uverbs_*.c and the driver data of rxe
// (drivers/infiniband/sw/rxe). How they come here is not known to this package: see [Space] and [Caller].
//
// A program is hostile. What it passes is checked before use; what it can cause are errors of its own calls, and errors
// of its own objects.
package uverbs
