package bounce

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
	"golang.org/x/sys/unix"
)

// sendLen is the length in bytes of a SEND with 8 bytes of payload.
const sendLen = packets.Overhead + 8

var seedOfSend = packets.Seed(sendLen)

// sends is the state of a device that exchanges SENDs of 8 bytes.
//
// An acknowledgement is sent behind the answer to its message. It is shorter than the answer, so
// both form one train: one call sends them, and one receives them.
type sends struct {
	out [sendLen + packets.AckLen]byte
	in  [2 * (sendLen + packets.AckLen)]byte
}

func newSends() *sends {
	s := &sends{}
	copy(s.out[:], packets.New(bth.RCSendOnly, sendLen))
	copy(s.out[sendLen:], packets.New(bth.RCAck, packets.AckLen))
	return s
}

// trains lets a socket send trains of a SEND and an acknowledgement, and receive them whole.
func trains(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, sendLen); err != nil {
		return fmt.Errorf("UDP_SEGMENT of a UDP socket: %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_GRO, 1); err != nil {
		return fmt.Errorf("UDP_GRO of a UDP socket: %w", err)
	}
	return nil
}

// message returns the SEND with message n.
func (s *sends) message(n uint64) []byte {
	p := s.out[:sendLen]
	packets.PutPSN(p, bth.PSN(n)&bth.MaxPSN)
	binary.BigEndian.PutUint64(p[bth.BTHLen:], messageWord(n))
	packets.Seal(seedOfSend, p)
	return p
}

// ack returns the acknowledgement of message n. In out it follows the message.
func (s *sends) ack(n uint64) []byte {
	p := s.out[sendLen:]
	packets.SealAck(p, bth.PSN(n)&bth.MaxPSN)
	return p
}

// next parses the first packet of a train and returns the rest. ok is false if its length or ICRC
// is wrong. sent is the only message that an acknowledgement may refer to: its PSN has the lower
// 24 bits of the number.
func (s *sends) next(b []byte, sent uint64) (word uint64, rest []byte, ok bool) {
	if len(b) >= sendLen {
		p := b[:sendLen]
		return binary.BigEndian.Uint64(p[bth.BTHLen:]), b[sendLen:], bth.CheckICRC(seedOfSend, p)
	}
	psn, ok := packets.ReadAck(b)
	return ackWord(sent), nil, ok && psn == bth.PSN(sent)&bth.MaxPSN
}

// packets receives packets and answers them. It reports whether there were any.
func (d *device) packets() (ok bool, err error) {
	n, err := d.await()
	if err != nil || n == 0 {
		return false, err
	}
	b := d.sends.in[:n]
	if n == 8 && !d.client && binary.BigEndian.Uint64(b) == overWord {
		return true, d.repair(0)
	}
	var all outcome
	for len(b) > 0 {
		word, rest, ok := d.sends.next(b, d.sent)
		if b = rest; !ok {
			continue
		}
		o := d.receive(word)
		all.ack, all.again, all.delivered = all.ack || o.ack, all.again || o.again, all.delivered || o.delivered
	}
	return true, d.reply(all)
}

// reply sends the reply to received packets: a message, and behind it an acknowledgement.
func (d *device) reply(o outcome) error {
	from, to := sendLen, sendLen // in sends.out
	if o.delivered {
		n := d.next(d.got)
		if d.due(n) {
			d.sends.message(n)
			from = 0
		}
		if d.over {
			return nil
		}
	} else if o.again {
		d.sends.message(d.sent)
		from = 0
	}
	if o.ack {
		d.sends.ack(d.got)
		to = len(d.sends.out)
	}
	if from == to {
		return nil
	}
	return sendBytes(d.udp, d.sends.out[from:to])
}

// looks is the number of receive attempts of a polling end between two checks of the clock.
const looks = 1000

// await receives a datagram and returns its length, 0 if none arrives within recvTimeout. A polling
// end does not wait in the kernel.
func (d *device) await() (int, error) {
	if d.way != SendsPolling {
		return recvBytes(d.udp, d.sends.in[:], 0)
	}
	for began := time.Now(); time.Since(began) < recvTimeout; {
		for range looks {
			if n, err := recvBytes(d.udp, d.sends.in[:], unix.MSG_DONTWAIT); n > 0 || err != nil {
				return n, err
			}
		}
		if d.stop.Load() {
			break
		}
	}
	return 0, nil
}
