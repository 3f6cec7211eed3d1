// Package trap runs an unmodified program and answers some of its system calls in place of the
// kernel.
//
// A seccomp filter in the program's process tree traps a small set of calls and passes them to
// this process: path lookups, ioctl with the command of RDMA verbs, write and fstat on reserved
// descriptor numbers. Trapped calls that concern neither a path of the [Tree] nor an object of
// the [Handler] continue in the kernel unchanged. Except for that ioctl command, the package
// knows nothing about RDMA.
//
// [Start] starts a program under the filter and returns a [Process] and the listener descriptor.
// [Serve] returns a [Server], which turns each notification of the listener into a [Call] and
// passes it to the Handler. Serve needs only the listener, so it may run in a process other than
// the one that started the program.
//
// The parent of a program is a keeper, a second process of this executable: see package keeper.
// It kills the program and all its descendants if this process ends before them.
//
// # Blocking calls
//
// An access to memory of a program can block for an unlimited time: the page may belong to a file
// system in user space or to userfaultfd. A [Handler] method that makes such an access can block
// too. Therefore each call has its own goroutine while it is answered, and one more goroutine
// receives notifications. Config.Workers bounds the calls of all processes, Config.PerProcess those
// of one; further calls are queued. The package holds no lock that two processes share during an
// access to memory or the installation of a descriptor. A Handler must do the same: for a call that
// waits for an event, its method returns, and the call is answered later.
//
// # Signals
//
// The filter has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19): once this process has
// received a notification, only a fatal signal ends the wait of the caller. Without the flag
// every signal would end it, the kernel would restart the call or fail it with EINTR, and the
// effect of the handler, such as a new queue pair, would be duplicated or lost. A restarted call
// cannot be told from a new one, so older kernels are refused: [ErrOldKernel].
//
// With the flag, other signals do not wake the caller, so this process polls for them every
// Config.SignalPoll:
//
//   - A call that waits for an event ([Call.OnInterrupt]) is ended with ERESTARTSYS, as in the
//     kernel: Ctrl-C ends it.
//   - A queued call, which has had no effect yet, is ended with ERESTARTNOINTR, so the kernel
//     always restarts it after the signal's handler.
//   - All other calls are short and end before the signal's handler runs. SIGKILL ends a call that
//     is blocked by the memory of its program, as it ends a system call of the kernel in such an
//     access.
//
// A signal that arrives before the notification is received ends the call with ERESTARTSYS in the
// kernel. If the signal's handler lacks SA_RESTART, the program sees EINTR, even from calls that
// otherwise never fail so, such as stat. The flag does not change that; the call has had no
// effect. To keep that window short, a worker always waits for notifications, and calls over the
// bounds are queued here, not in the kernel.
//
// # Trust
//
// The filter is no security boundary: a program can change the arguments of a call after they
// were examined, and calls that reach the kernel by other ways (io_uring, 32-bit calls) are not
// trapped. The program has only its own rights in any case.
//
// # Locks
//
// The scheduler's lock guards its queues and the queued flag of a call. Tree, objects, procs,
// waiting and listener each have a lock for their own fields. processLocks has one lock for each
// process: it serializes installations of descriptors on reserved numbers.
//
// Source: seccomp_unotify(2), seccomp(2), linux/kernel/seccomp.c.
package trap
