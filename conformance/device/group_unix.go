//go:build unix

package device

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the command a process group, which terminate and kill signal, and no terminal. At
// a terminal, ssh would ask for a password, as a background job that the terminal stops; without
// one it ends with an error.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func terminate(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
func kill(c *exec.Cmd)      { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
