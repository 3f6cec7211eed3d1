package blast

import (
	"fmt"
	"net/netip"
	"unsafe"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
	"golang.org/x/sys/unix"
)

const (
	// trainsPerCall is the number of trains that the sender of checked packets passes to the
	// kernel at once.
	trainsPerCall = 4
	// acksPerCall is the number of datagrams with acknowledgements or requests that the sender
	// receives at once.
	acksPerCall = 16
	// edge is the number of bytes between two payloads: the ICRC of a packet and the BTH of the
	// next.
	edge = packets.Overhead
)

// bursts is the sender of packets with ICRC. It holds the packets of one call, which are made
// anew for each.
type bursts struct {
	c      Config
	seed   uint32
	region []byte
	stage  []byte // copies of the payloads of a call; nil if they are not copied
	// edges has BTH and ICRC of each packet of a call. In a train the ICRC of a packet and the
	// BTH of the next one are one piece.
	edges   []byte
	iovs    []unix.Iovec // per packet: preceding edge, payload; then an ICRC
	msgs    []message
	next    bth.PSN // PSN of the next packet
	settled bth.PSN // packets before this one have arrived or are lost

	acks  [acksPerCall]message
	words [acksPerCall][]byte // memory of acks
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
	length := packets.AckLen + 1 // longer datagrams are not acknowledgements
	if c.Requests {
		length = requestRoom
	}
	for i := range s.acks {
		s.words[i] = make([]byte, length)
		iov := &unix.Iovec{Base: &s.words[i][0]}
		iov.SetLen(length)
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
		bth.AppendICRC(header, bth.ICRCStartWith(s.seed, header, payload))
	}
}

// full reports whether the packets of a call do not fit into a window.
func (s *bursts) full(window uint32) bool {
	return s.next.Diff(s.settled)+int32(s.count()) > int32(window)
}

// await waits for acknowledgements or requests. After recvTimeout it considers all sent packets
// lost.
func (s *bursts) await(fd int) error {
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.acks)), acksPerCall,
		unix.MSG_WAITFORONE, 0, 0)
	switch errno {
	case 0:
	case unix.EINTR, unix.ECONNREFUSED: // the receiver has ended; its result is on the way
		return nil
	case unix.EAGAIN:
		s.settled = s.next
		return nil
	default:
		return fmt.Errorf("waiting for an acknowledgement: %w", errno)
	}
	for i := range s.acks[:n] {
		b := s.words[i][:s.acks[i].len]
		if s.c.Requests {
			s.takeRequests(b)
		} else if psn, ok := packets.ReadAck(b); ok {
			s.acknowledge(psn)
		}
	}
	return nil
}

// acknowledge records that the packets before psn have arrived or are lost.
func (s *bursts) acknowledge(psn bth.PSN) {
	if s.settled.Before(psn) && !s.next.Before(psn) {
		s.settled = psn
	}
}

// sendChecked sends packets with ICRC to the receiver at to until over returns true. fd is a socket
// of [Config.dial].
func sendChecked(fd int, to netip.AddrPort, c Config, over func() bool) error {
	tv := unix.NsecToTimeval(recvTimeout.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		return fmt.Errorf("SO_RCVTIMEO of a UDP socket: %w", err)
	}
	if c.Requests {
		if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
			return fmt.Errorf("UDP_GRO of a UDP socket: %w", err)
		}
	}
	s := newBursts(c)
	if c.AsLink {
		_, peer := sockaddr(to.Addr(), to.Port())
		u, err := c.asLink(fd, peer)
		if err != nil {
			return err
		}
		defer u.close()
		u.address(s.msgs)
	}
	for !over() {
		s.fill()
		for s.full(c.window()) && !over() {
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

// send sends the packets of a call, or only the first trains of them.
func (s *bursts) send(fd int) error {
	sent, err := sendRaw(fd, s.msgs, 0)
	if err != nil {
		return err
	}
	s.next = s.next.Add(uint32(sent) * uint32(s.c.train()))
	return nil
}
