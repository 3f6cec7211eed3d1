//go:build linux && (amd64 || arm64)

package trap

import (
	"encoding/binary"
	"math"
	"slices"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verbsIoctl is RDMA_VERBS_IOCTL (include/uapi/rdma/rdma_user_ioctl_cmds.h).
const verbsIoctl = 0xc0181b01

// netlinkRDMA is the netlink family NETLINK_RDMA (include/uapi/linux/netlink.h).
const netlinkRDMA = 20

// fdcwd holds the low 32 bits of an argument AT_FDCWD.
const fdcwd = 0xffffff9c

// Actions of the filter. refuse fails the call without a notification.
const (
	allow  = unix.SECCOMP_RET_ALLOW
	notify = unix.SECCOMP_RET_USER_NOTIF
	refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
)

// A test compares one argument, or the bits of it in mask, with a value. It uses the low 32 bits:
// all arguments in rules are int or unsigned int in the kernel, which ignores the high half too.
type test struct {
	arg  int
	cond bpf.JumpTest
	val  uint32
	mask uint32 // 0: all bits
}

// A rule selects an action for a call if all tests hold. The first matching rule decides; a call
// without one is allowed.
type rule struct {
	call   call
	tests  []test
	action uint32
}

// rules returns the rules for all trapped calls. AT_EMPTY_PATH makes newfstatat and statx an fstat,
// which is trapped only for reserved descriptors. With AT_EMPTY_PATH and AT_FDCWD, both are trapped
// too, because the path is probably not empty.
func rules(d Descriptors) []rule {
	var (
		cwd        = test{arg: 0, cond: bpf.JumpEqual, val: fdcwd}
		statPath   = test{arg: 3, cond: bpf.JumpBitsNotSet, val: unix.AT_EMPTY_PATH}
		statxPath  = test{arg: 2, cond: bpf.JumpBitsNotSet, val: unix.AT_EMPTY_PATH}
		dup        = test{arg: 1, cond: bpf.JumpEqual, val: unix.F_DUPFD}
		dupCloexec = test{arg: 1, cond: bpf.JumpEqual, val: unix.F_DUPFD_CLOEXEC}
		verbs      = test{arg: 1, cond: bpf.JumpEqual, val: verbsIoctl}
		netlink    = test{arg: 0, cond: bpf.JumpEqual, val: unix.AF_NETLINK}
		ofRDMA     = test{arg: 2, cond: bpf.JumpEqual, val: netlinkRDMA}
	)
	return slices.Concat(
		onWriteLo(d, callWrite),
		on(callIoctl, verbs),
		onReserved(d, callFstat),
		on(callNewfstatat, statPath), onReserved(d, callNewfstatat), on(callNewfstatat, cwd),
		on(callStatx, statxPath), onReserved(d, callStatx), on(callStatx, cwd),
		on(callOpen), on(callOpenat), on(callOpenat2),
		on(callStat), on(callLstat),
		on(callAccess), on(callFaccessat), on(callFaccessat2),
		on(callReadlink), on(callReadlinkat),
		on(callGetxattr), on(callLgetxattr), on(callListxattr), on(callLlistxattr),
		[]rule{{callSocket, []test{netlink, ofRDMA}, refuse}},
		onReserved(d, callDup), onReserved(d, callFcntl, dup), onReserved(d, callFcntl, dupCloexec),
		on(callExecve), on(callExecveat),
	)
}

// on returns the rule of a call that is trapped if all tests hold.
func on(c call, tests ...test) []rule { return []rule{{c, tests, notify}} }

// onReserved returns the rules of a call that is trapped on a reserved descriptor.
func onReserved(d Descriptors, c call, tests ...test) []rule {
	return onWindows(d, func(w window) int { return w.lo }, c, tests...)
}

// onWriteLo returns the rules of a call that is trapped on the descriptors that Descriptors.WriteLo
// selects.
func onWriteLo(d Descriptors, c call) []rule {
	return onWindows(d, func(w window) int {
		if d.WriteLo == d.Lo {
			return w.lo
		}
		return w.channel
	}, c)
}

// onWindows returns the rules of a call that is trapped on the descriptors of each window from
// lowest(window) up to the last one of the window.
func onWindows(d Descriptors, lowest func(window) int, c call, tests ...test) (out []rule) {
	add := func(first, last test) {
		out = append(out, rule{c, append([]test{first, last}, tests...), notify})
	}
	for _, w := range []window{d.preferred(), windowBelow(loweredLimit)} {
		add(test{cond: bpf.JumpGreaterOrEqual, val: uint32(lowest(w))},
			test{cond: bpf.JumpLessOrEqual, val: uint32(w.hi)})
	}
	const inBlock = selectLimit - 1 // mask for the place of a number in its block of 1024
	add(test{cond: bpf.JumpGreaterOrEqual, val: uint32(lowest(windowBelow(selectLimit))), mask: inBlock},
		test{cond: bpf.JumpLessOrEqual, val: math.MaxInt32})
	return out
}

// Offsets in struct seccomp_data. Both architectures are little-endian, so the low half of an
// argument is first.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16
)

// filter assembles the rules for one architecture. Rules of one call must be adjacent. The filter
// allows calls of other architectures (32-bit programs) and of x32, whose numbers have bit 30
// set, except those that execute another program.
func filter(a arch, rules []rule) []bpf.Instruction {
	var prog []bpf.Instruction
	for _, f := range a.foreignExecs() {
		prog = append(prog,
			bpf.LoadAbsolute{Off: offArch, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: f.audit, SkipFalse: 3},
			bpf.LoadAbsolute{Off: offNr, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: f.nr, SkipFalse: 1},
			bpf.RetConstant{Val: notify})
	}
	prog = append(prog,
		bpf.LoadAbsolute{Off: offArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: a.audit, SkipTrue: 1},
		bpf.RetConstant{Val: allow})
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

// ruleBody returns the tests and the action of r. A test that fails skips the rest of the rule.
func ruleBody(r rule) []bpf.Instruction {
	var body []bpf.Instruction
	for _, t := range slices.Backward(r.tests) {
		left := len(body) + 1 // instructions after this test
		code := []bpf.Instruction{bpf.LoadAbsolute{Off: offArgs + 8*uint32(t.arg), Size: 4}}
		if t.mask != 0 {
			code = append(code, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: t.mask})
		}
		code = append(code, bpf.JumpIf{Cond: t.cond, Val: t.val, SkipFalse: uint8(left)})
		body = append(code, body...)
	}
	return append(body, bpf.RetConstant{Val: r.action})
}

// assemble returns the filter of this architecture.
func assemble(d Descriptors) ([]bpf.RawInstruction, error) {
	return bpf.Assemble(filter(native(), rules(d)))
}

// encode returns instructions as an array of struct sock_filter.
func encode(raw []bpf.RawInstruction) []byte {
	var out []byte
	for _, r := range raw {
		out = binary.NativeEndian.AppendUint16(out, r.Op)
		out = append(out, r.Jt, r.Jf)
		out = binary.NativeEndian.AppendUint32(out, r.K)
	}
	return out
}
