//go:build linux && (amd64 || arm64)

package trap

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/capability"
	"github.com/gorxe/gorxe/internal/trap/keeper"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Probe reports whether this process can run programs under the filter. It returns nil, or
// [ErrNested], [ErrOldKernel], [ErrDenied] or [ErrForeignMemory], wrapped with the cause. It
// leaves the process unchanged.
func Probe() error {
	result := make(chan error)
	go func() {
		// A filter cannot be removed, so it is installed on a thread that ends with this
		// goroutine: the goroutine never unlocks the thread.
		runtime.LockOSThread()
		result <- filterError(allowAll())
	}()
	if err := <-result; err != nil {
		return err
	}
	return probeMemory()
}

// allowAll installs a filter that allows everything on the calling thread.
func allowAll() syscall.Errno {
	fd, errno := keeper.Install(encode([]bpf.RawInstruction{{Op: unix.BPF_RET | unix.BPF_K, K: allow}}))
	if errno == 0 {
		_ = unix.Close(fd)
	}
	return errno
}

// probeMemory checks Yama and /proc. Level 1 of ptrace_scope permits access by ancestors, level 2
// only by processes with CAP_SYS_PTRACE, level 3 none.
func probeMemory() error {
	if _, err := os.Stat("/proc/self/mem"); err != nil {
		return fmt.Errorf("%w (%w)", ErrForeignMemory, err)
	}
	text, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return nil // the kernel has no Yama
	}
	scope, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
	if scope >= 3 || scope == 2 && !capability.Effective(unix.CAP_SYS_PTRACE) {
		return fmt.Errorf("%w (ptrace_scope is %d)", ErrForeignMemory, scope)
	}
	return nil
}

// Nested reports whether another seccomp listener already receives the calls of this process.
// Then a program can be started directly: in gorxe run inside gorxe run, the outer one serves it.
func Nested() bool {
	result := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // as in Probe
		result <- allowAll()
	}()
	return <-result == unix.EBUSY
}
