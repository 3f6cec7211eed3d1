package blast

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
	"golang.org/x/sys/unix"
)

const (
	// probeAfter is the time without an acknowledgement after which a sender whose window is used
	// up sends the first unacknowledged packet again.
	probeAfter = 300 * time.Microsecond
	// repairWindows is the number of windows that may be unacknowledged while a gap is repaired,
	// as in gorxe.
	repairWindows = 2
)

// lossySender is the sender of packets with ICRC that are lost and sent again, to a
// lossyReceiver. It loses a part of the acknowledgements.
type lossySender struct {
	*bursts
	losses losses
	gap    bool // the last acknowledgement was a NAK: the packet at settled is missing
	// repaired is the PSN after the last packet that was sent again, or settled if that is later.
	repaired bth.PSN
	heard    time.Time // time of the last acknowledgement or probe, or when the window was used up

	out  []message // the packet sent again, then those of bursts
	edge [edge]byte
	iovs [3]unix.Iovec // BTH, payload, ICRC of the packet sent again
}

func newLossySender(c Config) *lossySender {
	s := &lossySender{bursts: newBursts(c), losses: newLosses(c.Lose, 2)}
	copy(s.edge[:], packets.New(bth.RCSendMiddle, bth.BTHLen))
	s.iovs[0].Base = &s.edge[0]
	s.iovs[0].SetLen(bth.BTHLen)
	s.iovs[1].SetLen(c.payload())
	s.iovs[2].Base = &s.edge[bth.BTHLen]
	s.iovs[2].SetLen(bth.ICRCLen)
	again := newMessage(&s.iovs[0])
	again.hdr.SetIovlen(len(s.iovs))
	s.out = append([]message{again}, s.msgs...)
	s.msgs = s.out[1:]
	return s
}

// sendLossy sends packets with ICRC, and sends lost ones again, until over returns true.
func sendLossy(fd int, c Config, over func() bool) error {
	s := newLossySender(c)
	for !over() {
		s.fill()
		if err := s.await(fd, over); err != nil {
			return err
		}
		if err := s.send(fd, s.due(), true); err != nil {
			return err
		}
	}
	return nil
}

// await reads acknowledgements until the packets of a call fit into the window, and repairs gaps
// meanwhile. It polls, because socket timeouts are too coarse for probeAfter.
func (s *lossySender) await(fd int, over func() bool) error {
	if err := s.poll(fd); err != nil || !s.full(s.limit()) {
		return err
	}
	s.heard = time.Now()
	for s.full(s.limit()) && !over() {
		if s.due() || time.Since(s.heard) >= probeAfter {
			if err := s.send(fd, true, false); err != nil {
				return err
			}
			s.heard = time.Now()
		}
		if err := s.poll(fd); err != nil {
			return err
		}
		runtime.Gosched() // the receiver may be in the same process, as in tests
	}
	return nil
}

// limit returns the number of packets that may be unacknowledged.
func (s *lossySender) limit() uint32 {
	if s.gap {
		return repairWindows * s.c.window()
	}
	return s.c.window()
}

// due reports whether a NAK asks for a packet that was not sent again yet.
func (s *lossySender) due() bool { return s.gap && s.repaired == s.settled }

// poll takes the acknowledgements that have arrived.
func (s *lossySender) poll(fd int) error {
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.acks)), acksPerCall,
		unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case 0:
	case unix.EAGAIN, unix.EINTR, unix.ECONNREFUSED: // if refused, the receiver has ended
		return nil
	default:
		return fmt.Errorf("receiving acknowledgements: %w", errno)
	}
	for i := range s.acks[:n] {
		if s.losses.next() {
			continue
		}
		b := s.words[i][:s.acks[i].len]
		if psn, ok := packets.ReadAck(b); ok {
			s.acknowledge(psn, packets.Syndrome(b) == bth.NakPSNSequence)
			s.heard = time.Now()
		}
	}
	return nil
}

// acknowledge records that the packets before psn have arrived and, if gap is true, that the one
// at psn has not, but later ones have.
func (s *lossySender) acknowledge(psn bth.PSN, gap bool) {
	if psn.Before(s.settled) || s.next.Before(psn) {
		return
	}
	s.settled, s.gap = psn, gap
	if s.repaired.Before(psn) {
		s.repaired = psn
	}
}

// send sends the packet at settled again if again is true, and then, in the same call, the packets
// of a call if all is true.
func (s *lossySender) send(fd int, again, all bool) error {
	msgs := s.out
	if again {
		header := s.edge[:bth.BTHLen]
		packets.PutPSN(header, s.settled)
		payload := s.c.place(s.region, s.settled)
		s.iovs[1].Base = &payload[0]
		bth.AppendICRC(header, bth.ICRCStartWith(s.seed, header, payload))
	} else {
		msgs = msgs[1:]
	}
	if !all {
		msgs = msgs[:1]
	}
	sent, err := sendRaw(fd, msgs, 0)
	if err != nil {
		return refusal(err)
	}
	if again {
		s.repaired = s.settled.Add(1)
		sent--
	}
	s.next = s.next.Add(uint32(sent) * uint32(s.c.train()))
	return nil
}
