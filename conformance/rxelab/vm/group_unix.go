//go:build unix

package vm

import "syscall"

// ownGroup protects the machine from the terminal's Ctrl-C: the lab ends it itself.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
