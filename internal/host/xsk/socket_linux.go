package xsk

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// socket is an AF_XDP socket with its rings.
type socket struct {
	fd     int
	maps   [][]byte // mapped rings
	rx     consumer
	tx     producer
	rxDesc []unix.XDPDesc
	txDesc []unix.XDPDesc
	txFlag *uint32 // flags of the send ring, written by the kernel
}

// newSocket creates a socket that is not bound and has no rings.
func newSocket() (*socket, error) {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT):
		return nil, fmt.Errorf("this kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS): %w", err)
	case errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("an AF_XDP socket requires CAP_NET_RAW (root has it): %w", err)
	case err != nil:
		return nil, fmt.Errorf("AF_XDP socket: %w", err)
	}
	return &socket{fd: fd}, nil
}

// close unmaps the rings and closes the descriptor. The kernel keeps a socket while a ring is
// mapped.
func (s *socket) close() {
	for _, m := range s.maps {
		_ = unix.Munmap(m)
	}
	_ = unix.Close(s.fd)
	*s = socket{fd: -1}
}

// setRings creates the receive and send rings.
func (s *socket) setRings(rx, tx int) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, unix.XDP_RX_RING, rx); err != nil {
		return fmt.Errorf("XDP_RX_RING: %w", err)
	}
	if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, unix.XDP_TX_RING, tx); err != nil {
		return fmt.Errorf("XDP_TX_RING: %w", err)
	}
	off, err := s.offsets()
	if err != nil {
		return err
	}
	m, err := s.mapRing(unix.XDP_PGOFF_RX_RING, off.Rx, rx, unsafe.Sizeof(unix.XDPDesc{}))
	if err != nil {
		return err
	}
	s.rx = consumer{ours: m.consumer, theirs: m.producer, mask: uint32(rx - 1)}
	s.rxDesc = unsafe.Slice((*unix.XDPDesc)(m.entries), rx)
	if m, err = s.mapRing(unix.XDP_PGOFF_TX_RING, off.Tx, tx, unsafe.Sizeof(unix.XDPDesc{})); err != nil {
		return err
	}
	s.tx = producer{ours: m.producer, theirs: m.consumer, mask: uint32(tx - 1)}
	s.txDesc = unsafe.Slice((*unix.XDPDesc)(m.entries), tx)
	s.txFlag = m.flags
	return nil
}

// mapped is a mapped ring.
type mapped struct {
	producer, consumer, flags *uint32
	entries                   unsafe.Pointer
}

func (s *socket) mapRing(at int64, off unix.XDPRingOffset, entries int, size uintptr) (m mapped, err error) {
	mem, err := unix.Mmap(s.fd, at, int(off.Desc)+entries*int(size), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return m, fmt.Errorf("mapping a ring of %d entries: %w", entries, err)
	}
	s.maps = append(s.maps, mem)
	word := func(at uint64) *uint32 { return (*uint32)(unsafe.Pointer(&mem[at])) }
	return mapped{word(off.Producer), word(off.Consumer), word(off.Flags), unsafe.Pointer(&mem[off.Desc])}, nil
}

// offsets returns the offsets of the fields in a mapped ring.
func (s *socket) offsets() (off unix.XDPMmapOffsets, err error) {
	if err = getsockopt(s.fd, unix.XDP_MMAP_OFFSETS, &off); err != nil {
		return off, fmt.Errorf("XDP_MMAP_OFFSETS: %w", err)
	}
	return off, nil
}

// zeroCopy reports whether the socket is in zero-copy mode.
func (s *socket) zeroCopy() bool {
	var options uint32
	return getsockopt(s.fd, unix.XDP_OPTIONS, &options) == nil && options&unix.XDP_OPTIONS_ZEROCOPY != 0
}

// dropped returns the number of frames for s that the kernel dropped for lack of space.
func (s *socket) dropped() uint64 {
	var n unix.XDPStatistics
	if getsockopt(s.fd, unix.XDP_STATISTICS, &n) != nil {
		return 0
	}
	return n.Rx_dropped + n.Rx_ring_full
}

// kick makes the kernel process the send ring. kick and wake do not block, so they bypass the
// scheduler (RawSyscall), which would hand the P to another thread if a call took longer than 20
// µs.
func (s *socket) kick() unix.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
	return errno
}

// wake makes the kernel process the fill ring.
func (s *socket) wake() {
	_, _, _ = unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(s.fd), 0, 0, unix.MSG_DONTWAIT, 0, 0)
}

// getsockopt reads a socket option into value, whose size may differ from the size of the kernel's
// structure.
func getsockopt[T any](fd, option int, value *T) error {
	size := uint32(unsafe.Sizeof(*value))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option),
		uintptr(unsafe.Pointer(value)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func setsockopt[T any](fd, option int, value *T) error {
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, uintptr(option),
		uintptr(unsafe.Pointer(value)), unsafe.Sizeof(*value), 0)
	if errno != 0 {
		return errno
	}
	return nil
}
