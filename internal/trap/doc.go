// Package trap runs an unmodified program and answers some of its system calls in place of the
// kernel.
//
// A seccomp filter in the program's process tree hands the calls of a small set to this process:
// lookups of paths, ioctl with the command of RDMA verbs, write and fstat on reserved descriptor
// numbers. Calls that are not about a path of the [Tree] or an object of the [Handler] continue
// in the kernel unchanged. The package knows nothing about RDMA except that command number.
//
// [Start] starts a program under the filter; [Serve] answers its calls. Serve needs only the
// listener descriptor, so it may run in another process than the one that started the program.
//
// The parent of a program is a keeper, which Start makes of this program: package keeper. It kills
// the program and all its descendants if this process ends before them.
//
// # Calls that take long
//
// An access to memory of a program takes as long as the program likes: a page may be one of a file system in
// user space or of userfaultfd. So does a method of the [Handler] that makes such an access. Each call that
// is answered therefore has a thread of its own, and one more thread takes notifications. Config.Workers
// bounds the calls of all processes, Config.PerProcess those of one; further ones are queued. Nothing of the
// package that two processes share is locked during an access to memory or during the installation of a
// descriptor. A handler has to do the same; a call that waits for an event returns from the method and is
// answered later.
//
// # Signals
//
// The filter has SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19): once this process has received a
// notification, only a fatal signal ends the wait of the caller. Without the flag each signal would end it,
// the kernel would make the call again or let it fail with EINTR, and what the handler has done, such as a
// new queue pair, would be done twice or lost. There is no way to tell a call that is made again from a new
// one, so older kernels are refused: [ErrOldKernel].
//
// With the flag other signals do not wake the caller, so this process looks for them, every Config.SignalPoll:
//
//   - A call that waits for an event ([Call.OnInterrupt]) is given up with ERESTARTSYS, as in the kernel:
//     Ctrl-C ends it.
//   - A queued call, of which nothing was done, is given up with ERESTARTNOINTR, so the kernel makes it again
//     after the signal's handler in any case.
//   - All others are short, and end before the signal's handler runs. One that is delayed by the memory of
//     its program can be ended by SIGKILL, as a system call of the kernel can in such an access.
//
// A signal that comes before the notification is received ends the call with ERESTARTSYS in the kernel, which
// is EINTR if the handler of the signal lacks SA_RESTART, for calls that never fail so otherwise, such as
// stat. The flag does not change that, and nothing was done for the call. To keep that time short a thread
// always waits for notifications, and calls beyond the bounds are queued here, not in the kernel.
//
// # Trust
//
// The filter protects nothing: a program can change the arguments of a call after they were
// examined, and calls that reach the kernel on other ways (io_uring, 32-bit calls) are not
// trapped. The program has only its own rights in any case.
//
// Source: seccomp_unotify(2), seccomp(2), linux/kernel/seccomp.c.
package trap
