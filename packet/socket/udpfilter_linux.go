package socket

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// dropAll makes an unbound socket drop all incoming datagrams. The socket still owns its port, so
// the kernel does not answer with port unreachable.
func dropAll(fd int) error {
	if err := attachFilter(fd, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}); err != nil {
		return err
	}
	// Without UDP_GRO the kernel would segment every train before the filter. UDP_GRO also lets
	// the device merge datagrams into trains, which the packet socket beside this one receives in
	// one piece.
	_ = unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1)
	return nil
}

// netOffset is the address of the IP header in a socket filter: SKF_NET_OFF of linux/filter.h.
const netOffset = 1<<32 - 0x100000

// dropOptions makes a socket drop datagrams with IPv4 options or IPv6 extension headers, which no
// RoCEv2 packet has (CA17-3, CA17-24). The kernel removes the IP header, so the link does not see
// them.
func dropOptions(fd int, v4 bool) error {
	at, mask, want := uint32(6), uint32(0xff), uint32(unix.IPPROTO_UDP) // next header
	if v4 {
		at, mask, want = 0, 0x0f, 5 // header length in units of four bytes
	}
	at += netOffset
	return attachFilter(fd,
		unix.SockFilter{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: at},
		unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask},
		unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: want, Jf: 1},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: math.MaxUint32},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0})
}

// attachFilter gives a socket a classic BPF program, which returns how many bytes of a datagram it
// keeps; 0 drops the datagram.
func attachFilter(fd int, program ...unix.SockFilter) error {
	if err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}); err != nil {
		return fmt.Errorf("socket option SO_ATTACH_FILTER: %w", err)
	}
	return nil
}
