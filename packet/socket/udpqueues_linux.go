package socket

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// udpQueues is a UDP link that may have several receive sockets with the same address.
type udpQueues struct {
	*udp
	more []*udpSocket
}

// Split opens n-1 more sockets on l's address. The kernel selects the socket by queue pair number
// (SO_REUSEPORT with a BPF program). If a device merged packets into a train, all go to the queue
// of the first packet.
//
// SO_REUSEPORT is set after the first socket is bound, because with SO_REUSEPORT bind would not
// fail if another socket, such as that of another gorxe, had the port.
func (l *udpQueues) Split(n int) (queues []packet.Queue, err error) {
	defer func() {
		if err != nil {
			_ = l.closeMore()
			l.more = nil
			_ = withFD(l.raw, reuseport(0))
			err = fmt.Errorf("packet: udp %v: %d receive queues: %w (%w)", l.addr, n, err, errors.ErrUnsupported)
		}
	}()
	if err := withFD(l.raw, reuseport(1)); err != nil {
		return nil, err
	}
	queues = []packet.Queue{&l.udpSocket}
	for range n - 1 {
		s := &udpSocket{addr: l.addr, bare: l.bare}
		conn, err := l.bind(func(fd int) error {
			if err := reuseport(1)(fd); err != nil {
				return err
			}
			return s.receive(fd, l.opts)
		})
		if err != nil {
			return nil, err
		}
		if err := s.use(conn); err != nil {
			return nil, err
		}
		l.more = append(l.more, s)
		queues = append(queues, s)
	}
	return queues, withFD(l.raw, func(fd int) error { return steer(fd, n) })
}

// steer makes the sockets of fd's reuseport group receive by queue pair number mod n. The BPF
// program sees the UDP payload. If the payload is too short, the kernel's result is 0, and queue 0
// gets the datagram.
func steer(fd, n int) error {
	const flagsAndQPN, number = 4, 1<<24 - 1 // offset of the BTH word with DestQP, and the mask of DestQP
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flagsAndQPN},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: number},
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: uint32(n)},
		{Code: unix.BPF_RET | unix.BPF_A},
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	if err != nil {
		return fmt.Errorf("socket option SO_ATTACH_REUSEPORT_CBPF: %w", err)
	}
	return nil
}

func reuseport(on int) func(fd int) error {
	return func(fd int) error {
		return setOptions(fd, []option{{"SO_REUSEPORT", unix.SOL_SOCKET, unix.SO_REUSEPORT, on}})
	}
}

func (l *udpQueues) closeMore() (err error) {
	for _, s := range l.more {
		err = errors.Join(err, s.Close())
	}
	return err
}

// Close closes all sockets.
func (l *udpQueues) Close() error { return errors.Join(l.udp.Close(), l.closeMore()) }

// Stats returns the sum of the counts of all sockets.
func (l *udpQueues) Stats() packet.Stats {
	sum := l.udp.Stats()
	for _, s := range l.more {
		sum.Add(s.Stats())
	}
	return sum
}
