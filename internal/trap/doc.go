// Package trap runs an unmodified program and answers some of its system calls in place of the
// kernel.
//
// A seccomp filter in the program's process tree hands the calls of a small set to this process:
// lookups of paths, ioctl with the command of RDMA verbs, write and fstat on reserved descriptor
// numbers. Calls that are not about a path of the [Tree] or an object of the [Handler] continue
// in the kernel unchanged. The package knows nothing about RDMA except that command number.
//
// [Start] starts a program under the filter; [Serve] answers its calls. Serve needs only the
// listener descriptor, so it may run in another process than the parent of the program.
//
// The filter protects nothing: a program can change the arguments of a call after they were
// examined, and calls that reach the kernel on other ways (io_uring, 32-bit calls) are not
// trapped. The program has only its own rights in any case.
//
// Source: seccomp_unotify(2), seccomp(2), linux/kernel/seccomp.c.
package trap
