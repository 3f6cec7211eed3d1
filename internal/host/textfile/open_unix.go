//go:build unix

package textfile

import "syscall"

// openFlags keep a FIFO from being waited for, and a terminal from becoming that of the process.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
