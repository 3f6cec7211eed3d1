package respond

import (
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// dropSYNs makes a listening socket drop the connection requests of the sources from, and of no
// others. Some kernels, such as 6.18, require a capability for that.
func dropSYNs(socket syscall.RawConn, from []source) error {
	raw, err := bpf.Assemble(synFilterProgram(from))
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		program[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	var failed error
	err = socket.Control(func(fd uintptr) {
		if len(from) == 0 {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
			return
		}
		failed = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("socket filter: %w", failed)
	}
	return err
}

// Offsets from which classic BPF of Linux (linux/filter.h) loads the IP header, and the index of
// the interface that received the packet.
const (
	netOff      = 1<<32 - 0x100000
	adInterface = 1<<32 - 0x1000 + 8
)

// synFilterProgram returns a filter for a listening TCP socket. It drops the SYNs of the sources
// and passes everything else. It sees a segment from the TCP header on. Accepted connections
// inherit the filter, but receive no SYNs.
func synFilterProgram(from []source) []bpf.Instruction {
	const flagsAt, syn, ack = 13, 0x02, 0x10
	pass, drop := bpf.RetConstant{Val: 1<<32 - 1}, bpf.RetConstant{Val: 0}
	var v4, v6 []bpf.Instruction
	for _, s := range from {
		// If a word of the address differs, the program jumps past the remaining tests and the
		// drop.
		var tests []bpf.Instruction
		want := func(at, value uint32) {
			tests = append(tests, bpf.LoadAbsolute{Off: at, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: value})
		}
		const source4, source6 = netOff + 12, netOff + 8
		at, code := uint32(source6), &v6
		if s.addr.Is4() {
			at, code = source4, &v4
		}
		for a := s.addr.AsSlice()[:s.bits/8]; len(a) > 0; a, at = a[4:], at+4 {
			want(at, binary.BigEndian.Uint32(a))
		}
		if zone := s.addr.Zone(); zone != "" {
			want(adInterface, interfaceIndex(zone))
		}
		for i, in := range tests {
			if j, ok := in.(bpf.JumpIf); ok {
				j.SkipFalse = uint8(len(tests) - i)
				tests[i] = j
			}
		}
		*code = append(append(*code, tests...), drop)
	}
	v4, v6 = append(v4, pass), append(v6, pass)
	return append(append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: flagsAt, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: syn | ack},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: syn, SkipTrue: 1},
		pass,
		bpf.LoadAbsolute{Off: netOff, Size: 1}, // version
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 4, SkipTrue: 1},
		bpf.Jump{Skip: uint32(len(v4))},
	}, v4...), v6...)
}

// interfaceIndex returns the interface index of a zone, which is a name or a number. It returns
// 0, which is never an index, if there is no such interface.
func interfaceIndex(zone string) uint32 {
	if n, err := strconv.ParseUint(zone, 10, 31); err == nil {
		return uint32(n)
	}
	ifc, err := net.InterfaceByName(zone)
	if err != nil {
		return 0
	}
	return uint32(ifc.Index)
}
