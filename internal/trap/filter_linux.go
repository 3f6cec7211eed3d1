//go:build linux && (amd64 || arm64)

package trap

import (
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verbsIoctl is RDMA_VERBS_IOCTL (include/uapi/rdma/rdma_user_ioctl_cmds.h).
const verbsIoctl = 0xc0181b01

// netlinkRDMA is the netlink family NETLINK_RDMA.
const netlinkRDMA = 20

// fdcwd is AT_FDCWD as the low half of an argument.
const fdcwd = 0xffffff9c

// Results of the filter. refuse answers without a notification.
const (
	allow  = unix.SECCOMP_RET_ALLOW
	notify = unix.SECCOMP_RET_USER_NOTIF
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
)

// A test is a condition on the low 32 bits of one argument. All arguments in rules are int or
// unsigned int in the kernel, which ignores the high half too.
type test struct {
	arg  int
	cond bpf.JumpTest
	val  uint32
}

// A rule gives a call an action if all tests hold. The first rule that applies decides; a call
// without one is allowed.
type rule struct {
	call   call
	tests  []test
	action uint32
}

// rules is the trap set. Flags of newfstatat and statx with AT_EMPTY_PATH make them an fstat,
// which only matters for reserved descriptors; with AT_FDCWD the path is probably not empty.
func rules(d Descriptors) []rule {
	upTo := test{0, bpf.JumpLessOrEqual, uint32(d.Hi)}
	reserved := []test{{0, bpf.JumpGreaterOrEqual, uint32(d.Lo)}, upTo}
	written := []test{{0, bpf.JumpGreaterOrEqual, uint32(d.WriteLo)}, upTo}
	cwd := []test{{0, bpf.JumpEqual, fdcwd}}
	rdmaSocket := []test{{0, bpf.JumpEqual, unix.AF_NETLINK}, {2, bpf.JumpEqual, netlinkRDMA}}
	duplicates := func(cmd uint32) []test {
		return append(slices.Clone(reserved), test{1, bpf.JumpEqual, cmd})
	}
	return []rule{
		{callWrite, written, notify},
		{callIoctl, []test{{1, bpf.JumpEqual, verbsIoctl}}, notify},
		{callFstat, reserved, notify},
		{callNewfstatat, []test{{3, bpf.JumpBitsNotSet, unix.AT_EMPTY_PATH}}, notify},
		{callNewfstatat, reserved, notify},
		{callNewfstatat, cwd, notify},
		{callStatx, []test{{2, bpf.JumpBitsNotSet, unix.AT_EMPTY_PATH}}, notify},
		{callStatx, reserved, notify},
		{callStatx, cwd, notify},
		{callOpen, nil, notify},
		{callOpenat, nil, notify},
		{callOpenat2, nil, notify},
		{callStat, nil, notify},
		{callLstat, nil, notify},
		{callAccess, nil, notify},
		{callFaccessat, nil, notify},
		{callFaccessat2, nil, notify},
		{callReadlink, nil, notify},
		{callReadlinkat, nil, notify},
		{callGetxattr, nil, notify},
		{callLgetxattr, nil, notify},
		{callListxattr, nil, notify},
		{callLlistxattr, nil, notify},
		{callSocket, rdmaSocket, refuse},
		{callDup, reserved, notify},
		{callFcntl, duplicates(unix.F_DUPFD), notify},
		{callFcntl, duplicates(unix.F_DUPFD_CLOEXEC), notify},
	}
}

// Offsets in struct seccomp_data. Both architectures are little-endian, so the low half of an
// argument comes first.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// filter assembles the rules for one architecture. Calls of other architectures (32-bit
// programs) and of x32, whose numbers have bit 30 set, are allowed. Rules of one call are adjacent.
func filter(a arch, rules []rule) []bpf.Instruction {
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.audit, SkipTrue: 1},
		bpf.RetConstant{Val: allow},
	}
	for len(rules) > 0 {
		c := rules[0].call
		var body []bpf.Instruction
		for len(rules) > 0 && rules[0].call == c {
			body = append(body, ruleBody(rules[0])...)
			rules = rules[1:]
		}
		body = append(body, bpf.RetConstant{Val: allow})
		if nr := a.number(c); nr != absent {
			prog = append(prog,
				bpf.LoadAbsolute{Off: offNr, Size: 4},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(nr), SkipFalse: uint8(len(body))})
			prog = append(prog, body...)
		}
	}
	return append(prog, bpf.RetConstant{Val: allow})
}

// ruleBody returns the tests and the action of r. A test that fails skips the rest.
func ruleBody(r rule) []bpf.Instruction {
	var body []bpf.Instruction
	for i, t := range r.tests {
		left := 2*(len(r.tests)-i-1) + 1 // instructions after this test
		body = append(body,
			bpf.LoadAbsolute{Off: offArgs + 8*uint32(t.arg), Size: 4},
			bpf.JumpIf{Cond: t.cond, Val: t.val, SkipFalse: uint8(left)})
	}
	return append(body, bpf.RetConstant{Val: r.action})
}

// assemble returns the filter of this architecture in the form that seccomp takes.
func assemble(d Descriptors) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(filter(native(), rules(d)))
	if err != nil {
		return nil, err
	}
	out := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		out[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return out, nil
}
