package blast

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
	"golang.org/x/sys/unix"
)

const (
	// trainsPerCall is the number of trains that the sender of checked packets passes to the
	// kernel at once.
	trainsPerCall = 4
	// checkedBatch is the number of trains that the receiver of checked packets receives at once.
	checkedBatch = 8
	// acksPerCall is the number of acknowledgements that the sender receives at once.
	acksPerCall = 16
	// edge is the number of bytes between two payloads: the ICRC of a packet and the BTH of the
	// next.
	edge = packets.Overhead
)

// skew is the offset of a receive buffer from a multiple of 16 bytes: the data after a BTH is
// then at a multiple of 16, as in gorxe's udp link.
const skew = 16 - bth.BTHLen

// aligned returns n bytes that begin skew bytes after a multiple of 16.
func aligned(n int) []byte { return make([]byte, n+skew)[skew:] }

// bursts is the sender of packets with ICRC. It holds the packets of one call, which are made
// anew for each.
type bursts struct {
	c      Config
	seed   uint32
	region []byte
	stage  []byte // copies of the payloads of a call; nil if they are not copied
	// edges has BTH and ICRC of each packet of a call. In a train the ICRC of a packet and the
	// BTH of the next one are one piece.
	edges []byte
	iovs  []unix.Iovec // per packet: preceding edge, payload; then an ICRC
	msgs  []message
	next  bth.PSN // PSN of the next packet
	acked bth.PSN // packets before this one have arrived or are lost

	acks  [acksPerCall]message
	words [acksPerCall][packets.AckLen + 1]byte // longer datagrams are not acknowledgements
}

func newBursts(c Config) *bursts {
	n := c.train()
	trains := max(1, min(trainsPerCall, int(c.window())/n))
	s := &bursts{c: c, seed: packets.Seed(c.Segment), region: c.region(), edges: make([]byte, trains*n*edge)}
	s.iovs = make([]unix.Iovec, trains*(2*n+1))
	if c.Copied {
		s.stage = make([]byte, trains*n*c.payload())
	}
	for i := range trains * n {
		copy(s.edges[i*edge:], packets.New(bth.RCSendMiddle, bth.BTHLen))
	}
	for t := range trains {
		edges, iovs := s.edges[t*n*edge:], s.iovs[t*(2*n+1):][:2*n+1]
		iovs[0].Base = &edges[0]
		iovs[0].SetLen(bth.BTHLen)
		for i := range n {
			iovs[2*i+1].SetLen(c.payload())
			iovs[2*i+2].Base = &edges[i*edge+bth.BTHLen]
			iovs[2*i+2].SetLen(edge)
		}
		iovs[2*n].SetLen(bth.ICRCLen)
		m := newMessage(&iovs[0])
		m.hdr.SetIovlen(len(iovs))
		s.msgs = append(s.msgs, m)
	}
	for i := range s.acks {
		iov := &unix.Iovec{Base: &s.words[i][0]}
		iov.SetLen(len(s.words[i]))
		s.acks[i] = newMessage(iov)
	}
	return s
}

// count returns the number of packets of a call.
func (s *bursts) count() int { return len(s.msgs) * s.c.train() }

// fill makes the packets of the next call.
func (s *bursts) fill() {
	n := s.c.train()
	for i := range s.count() {
		header := s.edges[i*edge:][:bth.BTHLen:edge]
		psn := s.next.Add(uint32(i))
		packets.PutPSN(header, psn)
		payload := s.c.place(s.region, psn)
		if s.stage != nil {
			copied := s.stage[i*s.c.payload():][:s.c.payload()]
			copy(copied, payload)
			payload = copied
		}
		s.iovs[i/n*(2*n+1)+i%n*2+1].Base = &payload[0]
		bth.AppendICRC(header, bth.ICRCContinue(bth.ICRCStart(s.seed, header), payload))
	}
}

// full reports whether the packets of a call do not fit into the window.
func (s *bursts) full() bool { return s.next.Diff(s.acked)+int32(s.count()) > int32(s.c.window()) }

// await waits for acknowledgements. After patience it considers all sent packets lost.
func (s *bursts) await(fd int) error {
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.acks)), acksPerCall,
		unix.MSG_WAITFORONE, 0, 0)
	switch errno {
	case 0:
	case unix.EINTR, unix.ECONNREFUSED: // the receiver has ended; its result is on the way
		return nil
	case unix.EAGAIN:
		s.acked = s.next
		return nil
	default:
		return fmt.Errorf("waiting for an acknowledgement: %w", errno)
	}
	for i := range s.acks[:n] {
		if psn, ok := packets.ReadAck(s.words[i][:s.acks[i].len]); ok && s.acked.Before(psn) && !s.next.Before(psn) {
			s.acked = psn
		}
	}
	return nil
}

// sendChecked sends packets with ICRC until over returns true. fd is a socket of [Config.dial].
func sendChecked(fd int, c Config, over func() bool) error {
	tv := unix.NsecToTimeval(patience.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return fmt.Errorf("SO_RCVTIMEO of a UDP socket: %w", err)
	}
	s := newBursts(c)
	for !over() {
		s.fill()
		for s.full() && !over() {
			if err := s.await(fd); err != nil {
				return err
			}
		}
		if err := refusal(s.send(fd)); err != nil {
			return err
		}
	}
	return nil
}

// send sends the packets of a call, or only the first trains of them. It bypasses the Go runtime,
// which would hand the processor (P) to another thread if a call took longer than 20 µs.
func (s *bursts) send(fd int) error {
	sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.msgs[0])),
		uintptr(len(s.msgs)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	s.next = s.next.Add(uint32(sent) * uint32(s.c.train()))
	return nil
}

// checker is the receiver of packets with ICRC.
type checker struct {
	c      Config
	seed   uint32
	region []byte
	room   []byte
	iovs   [checkedBatch]unix.Iovec
	msgs   [checkedBatch]message
	ack    []byte
	next   bth.PSN // PSN after that of the last packet that arrived

	good, wrong uint64 // packets
}

func newChecker(c Config) *checker {
	k := &checker{c: c, seed: packets.Seed(c.Segment), region: c.region(), ack: packets.New(bth.RCAck, packets.AckLen)}
	clear(k.region)
	k.room = aligned(checkedBatch * trainRoom)
	for i := range k.msgs {
		k.iovs[i].Base = &k.room[i*trainRoom]
		k.iovs[i].SetLen(trainRoom)
		k.msgs[i] = newMessage(&k.iovs[i])
	}
	return k
}

// receive receives trains from a socket and returns their number, 0 after patience.
func (k *checker) receive(fd int) (int, error) {
	at := uintptr(unsafe.Pointer(&k.msgs))
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), at, checkedBatch, unix.MSG_DONTWAIT, 0, 0)
	if errno == unix.EAGAIN {
		n, _, errno = unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), at, checkedBatch, unix.MSG_WAITFORONE, 0, 0)
	}
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR, unix.ECONNREFUSED:
		return 0, nil
	}
	return 0, fmt.Errorf("receiving: %w", errno)
}

// take checks the packets of n trains and copies their payload.
func (k *checker) take(n int) {
	for i := range k.msgs[:n] {
		for b := range slices.Chunk(k.room[i*trainRoom:][:k.msgs[i].len], k.c.Segment) {
			k.packet(b)
		}
	}
}

func (k *checker) packet(b []byte) {
	if len(b) != k.c.Segment || !bth.CheckICRC(k.seed, b) {
		k.wrong++
		return
	}
	psn := packets.PSN(b)
	copy(k.c.place(k.region, psn), b[bth.BTHLen:])
	k.good++
	k.next = psn.Add(1)
}

// acknowledge acknowledges all packets so far. An acknowledgement that the kernel does not accept
// is lost.
func (k *checker) acknowledge(fd int) error {
	packets.SealAck(k.ack, k.next)
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&k.ack[0])), packets.AckLen,
		unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case 0, unix.EAGAIN, unix.EINTR, unix.ENOBUFS, unix.ECONNREFUSED:
		return nil
	}
	return fmt.Errorf("sending an acknowledgement: %w", errno)
}

// countChecked receives packets with ICRC until the counted time is over. The clock starts with
// the first one.
func (r *receiver) countChecked(c Config) (Result, error) {
	if err := r.answerFirst(); err != nil {
		return Result{}, err
	}
	k := newChecker(c)
	from := time.Now().Add(c.Warm)
	var res Result
	for {
		n, err := k.receive(r.fd)
		if err != nil {
			return res, err
		}
		now := time.Now()
		if took := now.Sub(from); took >= c.Time {
			res.Seconds = took.Seconds()
			res.Segments, res.Wrong = k.good, k.wrong
			res.Bytes = k.good * uint64(c.payload())
			return res, nil
		}
		if now.Before(from) {
			k.good, k.wrong = 0, 0
		} else {
			res.Calls++
		}
		if n == 0 {
			continue
		}
		k.take(n)
		if err := k.acknowledge(r.fd); err != nil {
			return res, err
		}
	}
}

// answerFirst waits for the first datagram and connects the socket to its sender.
func (r *receiver) answerFirst() error {
	var b [1]byte
	for give := time.Now().Add(limit); time.Now().Before(give); {
		_, from, err := unix.Recvfrom(r.fd, b[:], unix.MSG_PEEK)
		switch {
		case err == nil:
			if err := unix.Connect(r.fd, from); err != nil {
				return fmt.Errorf("connecting a UDP socket to the sender: %w", err)
			}
			return nil
		case err != unix.EAGAIN && err != unix.EINTR:
			return fmt.Errorf("receiving: %w", err)
		}
	}
	return errNothing
}
