//go:build linux && (amd64 || arm64)

package trap

import (
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// A call is a system call that the filter examines.
type call uint8

const (
	callOpen call = iota
	callOpenat
	callOpenat2
	callStat
	callLstat
	callFstat
	callNewfstatat
	callStatx
	callAccess
	callFaccessat
	callFaccessat2
	callReadlink
	callReadlinkat
	callGetxattr
	callLgetxattr
	callListxattr
	callLlistxattr
	callIoctl
	callWrite
	callSocket
	callDup
	callFcntl
	callExecve
	callExecveat
)

// absent is the number of a call that an architecture does not have.
const absent = -1

// callTable holds the name of each call, its number on each architecture, and the indexes of two
// arguments: dir of the directory descriptor, path of the address of the path. absent: none.
var callTable = [...]struct {
	name         string
	amd64, arm64 int32
	dir, path    int
}{
	callOpen:       {"open", 2, absent, absent, 0},
	callOpenat:     {"openat", 257, 56, 0, 1},
	callOpenat2:    {"openat2", 437, 437, 0, 1},
	callStat:       {"stat", 4, absent, absent, 0},
	callLstat:      {"lstat", 6, absent, absent, 0},
	callFstat:      {"fstat", 5, 80, absent, absent},
	callNewfstatat: {"newfstatat", 262, 79, 0, 1},
	callStatx:      {"statx", 332, 291, 0, 1},
	callAccess:     {"access", 21, absent, absent, 0},
	callFaccessat:  {"faccessat", 269, 48, 0, 1},
	callFaccessat2: {"faccessat2", 439, 439, 0, 1},
	callReadlink:   {"readlink", 89, absent, absent, 0},
	callReadlinkat: {"readlinkat", 267, 78, 0, 1},
	callGetxattr:   {"getxattr", 191, 8, absent, 0},
	callLgetxattr:  {"lgetxattr", 192, 9, absent, 0},
	callListxattr:  {"listxattr", 194, 11, absent, 0},
	callLlistxattr: {"llistxattr", 195, 12, absent, 0},
	callIoctl:      {"ioctl", 16, 29, absent, absent},
	callWrite:      {"write", 1, 64, absent, absent},
	callSocket:     {"socket", 41, 198, absent, absent},
	callDup:        {"dup", 32, 23, absent, absent},
	callFcntl:      {"fcntl", 72, 25, absent, absent},
	callExecve:     {"execve", 59, 221, absent, absent},
	callExecveat:   {"execveat", 322, 281, absent, absent},
}

func (c call) String() string { return callTable[c].name }

// An arch is an architecture, identified by its AUDIT_ARCH value.
type arch struct {
	name  string
	audit uint32
}

var (
	archAMD64 = arch{"amd64", unix.AUDIT_ARCH_X86_64}
	archARM64 = arch{"arm64", unix.AUDIT_ARCH_AARCH64}
)

// native returns the architecture of this program.
func native() arch {
	if runtime.GOARCH == archARM64.name {
		return archARM64
	}
	return archAMD64
}

// A foreignCall is a system call of another ABI, by its AUDIT_ARCH value and number.
type foreignCall struct{ audit, nr uint32 }

// foreignExecs returns the calls of other ABIs by which a program of ar can execute another
// program: on amd64 execve and execveat of i386 (int 0x80) and of x32.
func (ar arch) foreignExecs() []foreignCall {
	if ar != archAMD64 {
		return nil
	}
	const x32 = 0x40000000
	return []foreignCall{
		{unix.AUDIT_ARCH_I386, 11}, {unix.AUDIT_ARCH_I386, 358},
		{ar.audit, x32 | 520}, {ar.audit, x32 | 545},
	}
}

// executes reports whether a call executes another program. audit is the AUDIT_ARCH value of the
// call, nr its number.
func (ar arch) executes(audit, nr uint32) bool {
	if audit == ar.audit && (nr == uint32(ar.number(callExecve)) || nr == uint32(ar.number(callExecveat))) {
		return true
	}
	return slices.Contains(ar.foreignExecs(), foreignCall{audit, nr})
}

// number returns the number of c, or absent if the architecture does not have it.
func (ar arch) number(c call) int32 {
	if ar.name == archARM64.name {
		return callTable[c].arm64
	}
	return callTable[c].amd64
}

// nativeCalls maps the numbers of this architecture to calls.
var nativeCalls = func() map[int32]call {
	m := map[int32]call{}
	for c := range callTable {
		if n := native().number(call(c)); n != absent {
			m[n] = call(c)
		}
	}
	return m
}()
