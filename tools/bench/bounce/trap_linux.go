package bounce

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// trapped is the command of the ioctl that the filter passes to the device: RDMA_VERBS_IOCTL, as
// in gorxe's filter (include/uapi/rdma/rdma_user_ioctl_cmds.h).
const trapped = 0xc0181b01

// Offsets in struct seccomp_data; for the argument, of its lower half.
const (
	offNr   = 0
	offArch = 4
	offArg1 = 24
)

// auditArch returns the AUDIT_ARCH value of this architecture, 0 if it is not known.
func auditArch() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// installFilter makes the calling thread's ioctls with the command trapped wait for answers, and
// returns the listener for them.
func installFilter() (listener int, err error) {
	if auditArch() == 0 {
		return -1, fmt.Errorf("a seccomp filter for %s: only those for amd64 and arm64 are known", runtime.GOARCH)
	}
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: auditArch(), SkipTrue: 5},
		bpf.LoadAbsolute{Off: offNr, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_IOCTL, SkipTrue: 3},
		bpf.LoadAbsolute{Off: offArg1, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: trapped, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF},
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	if err != nil {
		return -1, fmt.Errorf("assembling a seccomp filter: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("setting no_new_privs, for a seccomp filter: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return -1, fmt.Errorf("installing a seccomp filter with user notification: %w", errno)
	}
	return int(fd), nil
}

// notification is struct seccomp_notif (include/uapi/linux/seccomp.h).
type notification struct {
	id    uint64
	tid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// answerTrap makes one waiting ioctl return 0. A caller that was killed meanwhile needs no
// answer.
func answerTrap(listener int) error {
	var n notification // the kernel rejects one that is not zeroed
	errno := ioctlRaw(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
	if errno == 0 {
		r := response{id: n.id}
		errno = ioctlRaw(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	}
	if errno != 0 && errno != unix.ENOENT && errno != unix.EINTR {
		return fmt.Errorf("answering a system call of the program: %w", errno)
	}
	return nil
}
