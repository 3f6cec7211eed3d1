//go:build unix

package vm

import "syscall"

// ownGroup keeps the terminal's Ctrl-C from the machine: the lab ends it in its own time.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
