//go:build unix

package textfile

import "syscall"

// openFlags avoid waiting for a FIFO and acquiring a controlling terminal.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
