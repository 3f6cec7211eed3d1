package socket

import (
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// udpQueues is a link by UDP that may receive by further sockets of its address.
type udpQueues struct {
	*udp
	more []*udpSocket
}

// Split opens more sockets for the address of l, among which the kernel chooses by the queue pair number (SO_REUSEPORT with a
// program). What a network device has joined to a train goes where its first packet does.
//
// The option comes after the first socket is bound: so whoever else owns the port was found out, another gorxe, too.
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

// steer lets the sockets that share fd's port receive by the remainder of the queue pair number. The program sees the UDP payload;
// of one that is too short it says 0, as the kernel does.
func steer(fd, n int) error {
	const flagsAndQPN, number = 4, 1<<24 - 1 // where the word begins whose low 24 bits are the number (BTH)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: flagsAndQPN},
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: number},
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: uint32(n)},
		{Code: unix.BPF_RET | unix.BPF_A},
	}
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
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

// Stats are those of all sockets.
func (l *udpQueues) Stats() packet.Stats {
	sum := l.udp.Stats()
	for _, s := range l.more {
		sum.Add(s.Stats())
	}
	return sum
}
