package route

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// changes is a subscription to rtnetlink(7) messages of the kernel.
type changes struct {
	file *os.File
	conn syscall.RawConn
	buf  []byte
}

// subscribe subscribes to the messages about one neighbour. Many callers may wait at the same time.
// With package nl's socket, each would need 64 KiB of stack and be woken for every neighbour.
func subscribe(neighbour netip.Addr) (*changes, error) {
	return subscribeTo(only(neighbour), 4096, unix.RTNLGRP_NEIGH)
}

// subscribeTo subscribes to the messages of the given rtnetlink groups; a filter that is not empty
// selects among them. room is the size of the receive buffer in bytes.
func subscribeTo(filter []unix.SockFilter, room int, groups ...uint32) (*changes, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("opening a netlink socket: %w", err)
	}
	c := &changes{file: os.NewFile(uintptr(fd), "netlink"), buf: make([]byte, room)}
	if len(filter) > 0 {
		err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	}
	mask := uint32(0)
	for _, g := range groups {
		mask |= 1 << (g - 1)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: mask})
	}
	if err == nil {
		c.conn, err = c.file.SyscallConn()
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("subscribing to what the kernel tells: %w", err)
	}
	return c, nil
}

// only returns a socket filter that passes the messages about one neighbour address, on any
// interface.
func only(neighbour netip.Addr) []unix.SockFilter {
	const (
		drop, pass = 0, 1<<31 - 1
		// findAttr is SKF_AD_OFF + SKF_AD_NLATTR of linux/filter.h: a load from it loads nothing,
		// but searches for attribute X from offset A on.
		findAttr = 1<<32 - 0x1000 + 12
	)
	addr := neighbour.AsSlice()
	words := len(addr) / 4
	code := []unix.SockFilter{
		// A and X = offset of the attribute with the address; every message about a neighbour has
		// it.
		{Code: unix.BPF_LD | unix.BPF_IMM, K: unix.SizeofNlMsghdr + unix.SizeofNdMsg},
		{Code: unix.BPF_LDX | unix.BPF_IMM, K: netlink.NDA_DST},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: findAttr},
		{Code: unix.BPF_MISC | unix.BPF_TAX},
	}
	for i := range words {
		code = append(code,
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_IND, K: uint32(unix.SizeofNlAttr + 4*i)},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ, Jf: uint8(2*(words-1-i) + 1),
				K: binary.BigEndian.Uint32(addr[4*i:])})
	}
	return append(code, unix.SockFilter{Code: unix.BPF_RET, K: pass}, unix.SockFilter{Code: unix.BPF_RET, K: drop})
}

// close closes the socket. A waiting receive returns an error.
func (c *changes) close() { c.file.Close() }

// receive waits for messages. They are valid until the next call.
func (c *changes) receive() ([]syscall.NetlinkMessage, error) {
	for {
		var n int
		var from unix.Sockaddr
		var rerr error
		err := c.conn.Read(func(fd uintptr) bool {
			n, from, rerr = unix.Recvfrom(int(fd), c.buf, 0)
			return rerr != unix.EAGAIN
		})
		if err == nil {
			err = rerr
		}
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if kernel, ok := from.(*unix.SockaddrNetlink); ok && kernel.Pid == nl.PidKernel {
			return syscall.ParseNetlinkMessage(c.buf[:n])
		}
	}
}
