//go:build !unix

package vm

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
