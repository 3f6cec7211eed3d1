//go:build linux && (amd64 || arm64)

package trap

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs the filter of a for a system call.
func judge(t *testing.T, a arch, audit, nr uint32, args ...uint64) uint32 {
	t.Helper()
	return judgeFor(t, Descriptors{Lo: 960, Hi: 1023, Channel: 1000, WriteLo: 1000}, a)(audit, nr, args...)
}

// judgeFor returns a function that runs the filter with some reserved descriptors for system
// calls. The virtual machine of package bpf loads big-endian words and the kernel native ones, so
// the bytes of each word are swapped.
func judgeFor(t *testing.T, d Descriptors, a arch) func(audit, nr uint32, args ...uint64) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(filter(a, rules(d)))
	if err != nil {
		t.Fatal(err)
	}
	return func(audit, nr uint32, args ...uint64) uint32 {
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[offNr:], nr)
		binary.BigEndian.PutUint32(data[offArch:], audit)
		for i, v := range args {
			binary.BigEndian.PutUint32(data[offArgs+8*i:], uint32(v))
			binary.BigEndian.PutUint32(data[offArgs+8*i+4:], uint32(v>>32))
		}
		got, err := vm.Run(data)
		if err != nil {
			t.Fatal(err)
		}
		return uint32(got)
	}
}

func TestFilterTrapsTheTrapSetOnly(t *testing.T) {
	const (
		cwd   = 0xffffff9c
		empty = unix.AT_EMPTY_PATH
		high  = 0xdeadbeef00000000 // the kernel ignores this half
	)
	for _, c := range []struct {
		call call
		args []uint64
		want uint32
	}{
		{callWrite, []uint64{999}, allow},
		{callWrite, []uint64{1000}, notify},
		{callWrite, []uint64{1023}, notify},
		{callWrite, []uint64{1024}, allow},
		{callWrite, []uint64{high | 1000}, notify},
		{callWrite, []uint64{^uint64(0)}, allow},
		{callWrite, []uint64{1}, allow},
		{callIoctl, []uint64{3, verbsIoctl}, notify},
		{callIoctl, []uint64{3, high | verbsIoctl}, notify},
		{callIoctl, []uint64{verbsIoctl, 0x5401}, allow},
		{callFstat, []uint64{959}, allow},
		{callFstat, []uint64{960}, notify},
		{callFstat, []uint64{1023}, notify},
		{callFstat, []uint64{1024}, allow},
		{callNewfstatat, []uint64{5, 0, 0, 0}, notify},
		{callNewfstatat, []uint64{5, 0, 0, unix.AT_SYMLINK_NOFOLLOW}, notify},
		{callNewfstatat, []uint64{5, 0, 0, empty}, allow},
		{callNewfstatat, []uint64{5, 0, 0, empty | unix.AT_SYMLINK_NOFOLLOW}, allow},
		{callNewfstatat, []uint64{959, 0, 0, empty}, allow},
		{callNewfstatat, []uint64{960, 0, 0, empty}, notify},
		{callNewfstatat, []uint64{1023, 0, 0, empty}, notify},
		{callNewfstatat, []uint64{1024, 0, 0, empty}, allow},
		{callNewfstatat, []uint64{cwd, 0, 0, empty}, notify},
		{callNewfstatat, []uint64{^uint64(99), 0, 0, empty}, notify},
		{callStatx, []uint64{5, 0, 0, empty}, notify}, // argument 3 is the mask
		{callStatx, []uint64{5, 0, empty}, allow},
		{callStatx, []uint64{960, 0, empty}, notify},
		{callStatx, []uint64{1023, 0, empty}, notify},
		{callStatx, []uint64{1024, 0, empty}, allow},
		{callStatx, []uint64{cwd, 0, empty}, notify},
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
		{callSocket, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, netlinkRDMA}, refuse},
		{callSocket, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{callSocket, []uint64{unix.AF_INET, unix.SOCK_RAW, netlinkRDMA}, allow},
	} {
		for _, a := range []arch{archAMD64, archARM64} {
			nr := a.number(c.call)
			if nr == absent {
				continue
			}
			name := fmt.Sprintf("%s %v%#x", a.name, c.call, c.args)
			if got := judge(t, a, a.audit, uint32(nr), c.args...); got != c.want {
				t.Errorf("%s: got %#x, want %#x", name, got, c.want)
			}
			for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
				if got := judge(t, a, other, uint32(nr), c.args...); got != allow {
					t.Errorf("%s on architecture %#x: got %#x", name, other, got)
				}
			}
		}
	}
}

func TestFilterAllowsEveryOtherNumber(t *testing.T) {
	for _, a := range []arch{archAMD64, archARM64} {
		trapped := map[uint32]bool{}
		for c := range callTable {
			trapped[uint32(a.number(call(c)))] = true
		}
		const x32 = 0x40000000
		for nr := range uint32(600) {
			args := []uint64{1000, verbsIoctl}
			if got := judge(t, a, a.audit, nr, args...); got != allow && !trapped[nr] {
				t.Errorf("%s: call %d: got %#x", a.name, nr, got)
			}
			if got := judge(t, a, a.audit, nr|x32, args...); got != allow && !a.executes(a.audit, nr|x32) {
				t.Errorf("%s: call %d of x32: got %#x", a.name, nr, got)
			}
		}
	}
}

// A program of amd64 can make calls of i386 (int 0x80) and, if the kernel supports them, of x32.
func TestFilterTrapsExecveOfOtherArchitectures(t *testing.T) {
	for _, c := range []struct {
		a         arch
		audit, nr uint32
		want      uint32
	}{
		{archAMD64, unix.AUDIT_ARCH_I386, 11, notify},
		{archAMD64, unix.AUDIT_ARCH_I386, 358, notify},
		{archAMD64, unix.AUDIT_ARCH_X86_64, 0x40000000 | 520, notify},
		{archAMD64, unix.AUDIT_ARCH_X86_64, 0x40000000 | 545, notify},
		{archAMD64, unix.AUDIT_ARCH_I386, 59, allow},
		{archAMD64, unix.AUDIT_ARCH_X86_64, 520, allow},
		{archARM64, unix.AUDIT_ARCH_ARM, 11, allow}, // no program of arm64 makes it
	} {
		if got := judge(t, c.a, c.audit, c.nr); got != c.want {
			t.Errorf("%s: call %#x of architecture %#x: %#x, want %#x", c.a.name, c.nr, c.audit, got, c.want)
		}
		if got := c.a.executes(c.audit, c.nr); got != (c.want == notify) {
			t.Errorf("%s: call %#x of architecture %#x executes a program: %v", c.a.name, c.nr, c.audit, got)
		}
	}
}

func TestFilterTrapsDoorbellsWhereItIsTold(t *testing.T) {
	d, a := Descriptors{Lo: 960, Hi: 1023, Channel: 1000, WriteLo: 960}, native()
	for fd, want := range map[uint64]uint32{959: allow, 960: notify, 191: allow, 192: notify, 1983: allow,
		1984: notify} {
		if got := judgeFor(t, d, a)(a.audit, uint32(a.number(callWrite)), fd); got != want {
			t.Errorf("a write to %d: %#x, want %#x", fd, got, want)
		}
	}
}

// The filter traps exactly the descriptors that are reported as reserved.
func TestFilterTrapsEachReservedDescriptor(t *testing.T) {
	a := native()
	for _, limit := range []uint64{32, 64, 200, 256, 512, 1024, 1 << 20} {
		d, err := DescriptorsFor(limit)
		if err != nil {
			t.Fatal(err)
		}
		run, want := judgeFor(t, d, a), map[bool]uint32{true: notify, false: allow}
		for fd := -1; fd < 3000; fd++ {
			if got := run(a.audit, uint32(a.number(callFstat)), uint64(fd)); got != want[d.Contains(fd)] {
				t.Fatalf("with a limit of %d fstat of %d is %#x; reserved: %v", limit, fd, got, d.Contains(fd))
			}
			channel := d.Contains(fd) && d.slotOf(fd) == SlotChannel
			if got := run(a.audit, uint32(a.number(callWrite)), uint64(fd)); got != want[channel] {
				t.Fatalf("with a limit of %d write to %d is %#x; of a channel: %v", limit, fd, got, channel)
			}
		}
		n := 0
		for w := range d.windows() {
			for _, s := range []Slot{SlotControl, SlotChannel} {
				for lo, hi := w.slot(s); lo <= hi; lo++ {
					if !d.Contains(lo) || d.slotOf(lo) != s {
						t.Fatalf("with a limit of %d the number %d is not one of slot %d", limit, lo, s)
					}
				}
			}
			if n++; n == 10 {
				break
			}
		}
	}
}

// The kernel accepts only these classes of instructions (seccomp_check_filter).
func TestFilterAssemblesToWhatSeccompAccepts(t *testing.T) {
	d, err := DescriptorsFor(1024)
	if err != nil {
		t.Fatal(err)
	}
	code, err := assemble(d)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range code {
		load := c.Op == unix.BPF_LD|unix.BPF_W|unix.BPF_ABS
		if load && (c.K%4 != 0 || c.K > 60) {
			t.Errorf("instruction %d loads from %d", i, c.K)
		}
		and := c.Op == unix.BPF_ALU|unix.BPF_AND|unix.BPF_K
		if !load && !and && c.Op&7 != unix.BPF_JMP && c.Op != unix.BPF_RET|unix.BPF_K {
			t.Errorf("instruction %d has the code %#x", i, c.Op)
		}
	}
	t.Logf("%d instructions", len(code))
}

func TestNumbersOfThisArchitectureAreThoseOfTheSystem(t *testing.T) {
	for c, nr := range map[call]int32{
		callOpenat: unix.SYS_OPENAT, callOpenat2: unix.SYS_OPENAT2, callStatx: unix.SYS_STATX,
		callFstat: unix.SYS_FSTAT, callFaccessat: unix.SYS_FACCESSAT, callFaccessat2: unix.SYS_FACCESSAT2,
		callReadlinkat: unix.SYS_READLINKAT, callGetxattr: unix.SYS_GETXATTR, callLgetxattr: unix.SYS_LGETXATTR,
		callListxattr: unix.SYS_LISTXATTR, callLlistxattr: unix.SYS_LLISTXATTR, callIoctl: unix.SYS_IOCTL,
		callWrite: unix.SYS_WRITE, callSocket: unix.SYS_SOCKET,
	} {
		if got := native().number(c); got != nr {
			t.Errorf("%s is %d on %s, want %d", c, got, runtime.GOARCH, nr)
		}
	}
}

func TestEachSlotHasReservedNumbers(t *testing.T) {
	for _, c := range []struct {
		limit uint64
		want  Descriptors
	}{
		{1 << 20, Descriptors{960, 1023, 1000, 1000}},
		{^uint64(0), Descriptors{960, 1023, 1000, 1000}},
		{1024, Descriptors{960, 1023, 1000, 1000}},
		{1000, Descriptors{192, 255, 232, 232}},
		{256, Descriptors{192, 255, 232, 232}},
		{255, Descriptors{128, 191, 168, 168}},
		{64, Descriptors{32, 63, 52, 52}},
		{32, Descriptors{16, 31, 26, 26}},
	} {
		got, err := DescriptorsFor(c.limit)
		if err != nil || got != c.want || !got.valid() {
			t.Errorf("limit %d: %+v, %v, want %+v", c.limit, got, err, c.want)
		}
	}
	if _, err := DescriptorsFor(31); err == nil {
		t.Error("a limit of 31 is accepted")
	}
}
