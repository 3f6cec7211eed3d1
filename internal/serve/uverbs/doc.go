// Package uverbs implements the kernel's ib_uverbs, which libibverbs calls, for a device of
// package verbs. The objects belong to programs in other processes, which map their queues and
// register their own memory.
//
// The calls are those of package uapi, with the errors of drivers/infiniband/core/uverbs_*.c and
// the driver data of rxe (drivers/infiniband/sw/rxe). A [Server] serves one device; [Server.Open]
// returns a [Context] per open file, whose Ioctl executes a call. [CallerMemory] and [Caller]
// abstract how calls get here.
//
// Programs are not trusted. Their arguments are checked before use; they can cause errors only of
// their own calls and their own objects.
//
// A Context's mu serializes the calls of its program and may be held for as long as the program
// delays an access to its memory. Doorbells, events and address handles therefore have their own
// locks, which the data path can acquire.
package uverbs
