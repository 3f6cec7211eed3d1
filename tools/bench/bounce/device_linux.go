package bounce

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// device is the device of an end: it owns the socket.
type device struct {
	exchange
	way     Way
	udp     int
	peer    int    // TCP connection, readable when the peer has sent a report or has ended
	program *child // nil: the device answers
	sends   *sends // nil: messages are not packets
	waits   []unix.PollFd
	stop    *atomic.Bool // set to end the device

	// Only of a client.
	last   uint64  // last message to send; 0: of a server
	times  []int64 // times in ns at which messages were sent for the first time
	began  time.Time
	resent uint64
	over   bool
}

// errStopped is the error of an end that was told to end.
var errStopped = errors.New("told to end")

// Indexes in waits.
const (
	atSocket = iota
	atBell
	atTrap
)

// begin waits until the program is ready, calls ready and calls run. It must be called on a
// thread of its own.
func (d *device) begin(ready func() error) error {
	if err := withoutSignals(); err != nil {
		return err
	}
	if d.program != nil {
		if err := d.program.await(d.way); err != nil {
			return err
		}
	}
	if err := ready(); err != nil {
		return err
	}
	return d.run()
}

// run exchanges messages until the client has sent its last one, or the peer or the program ends.
func (d *device) run() error {
	d.began = time.Now()
	if d.program == nil {
		if err := d.answer(0); err != nil { // a server sends nothing here
			return err
		}
	} else {
		d.waits = []unix.PollFd{
			atSocket: {Fd: int32(d.udp), Events: unix.POLLIN},
			atBell:   {Fd: int32(d.program.inotify), Events: unix.POLLIN},
		}
		if d.program.listener >= 0 {
			d.waits = append(d.waits, unix.PollFd{Fd: int32(d.program.listener), Events: unix.POLLIN})
		}
	}
	idle := time.Duration(0) // since the last progress
	for !d.over {
		before := d.exchange
		quiet, err := d.turn()
		if d.stop.Load() {
			return errStopped
		}
		if d.exchange != before {
			idle = 0
		}
		if err == nil && quiet {
			idle += recvTimeout
			err = d.repair(idle)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// turn waits for something to do and does it. It reports whether nothing arrived in time.
func (d *device) turn() (quiet bool, err error) {
	switch {
	case d.sends != nil:
		ok, err := d.packets()
		return !ok, err
	case d.program == nil:
		ok, err := d.datagram(0)
		return !ok, err
	}
	n, err := pollRaw(d.waits, recvTimeout)
	if err != nil || n == 0 {
		return true, err
	}
	if d.waits[atBell].Revents != 0 {
		n, err := d.program.doorbell()
		if err == nil {
			err = d.send(n)
		}
		if err != nil || d.over {
			return false, err
		}
	}
	if d.waits[atSocket].Revents != 0 {
		if _, err := d.datagram(unix.MSG_DONTWAIT); err != nil {
			return false, err
		}
	}
	if len(d.waits) > atTrap && d.waits[atTrap].Revents != 0 {
		if d.waits[atTrap].Revents&unix.POLLIN == 0 {
			return false, errProgram // the filter has no threads any more
		}
		return false, answerTrap(d.program.listener)
	}
	return false, nil
}

// datagram receives a datagram and reports whether there was one.
func (d *device) datagram(flags int) (ok bool, err error) {
	word, ok, err := recvRaw(d.udp, flags)
	if err != nil || !ok {
		return false, err
	}
	if word == overWord && !d.client {
		return true, d.repair(0)
	}
	o := d.receive(word)
	// The acknowledgement goes first, so that the peer processes it while the program here
	// processes the message.
	if o.ack {
		err = sendRaw(d.udp, ackWord(word>>1))
	}
	if err == nil && o.again {
		err = sendRaw(d.udp, messageWord(d.sent))
	}
	if err == nil && o.completed {
		err = d.program.complete(d.sent)
	}
	if err == nil && o.delivered {
		err = d.deliver()
	}
	return true, err
}

// deliver passes the last message of the peer to the program, or answers it.
func (d *device) deliver() error {
	if d.program == nil {
		return d.answer(d.got)
	}
	return d.program.deliver(d.way, d.got)
}

// answer sends the message that follows the peer's message n.
func (d *device) answer(n uint64) error { return d.send(d.next(n)) }

// send sends message n if it was not sent before.
func (d *device) send(n uint64) error {
	if !d.due(n) {
		return nil
	}
	return d.sendMessage(n)
}

// due records that message n is sent, and the time. It returns false if n was sent before, or if
// it follows the client's last message, in which case the client is done.
func (d *device) due(n uint64) bool {
	if n <= d.sent {
		return false
	}
	if d.client {
		d.times = append(d.times, time.Since(d.began).Nanoseconds())
		if n > d.last {
			d.over = true
			return false
		}
	}
	return d.post(n)
}

func (d *device) sendMessage(n uint64) error {
	if d.sends != nil {
		return sendBytes(d.udp, d.sends.message(n))
	}
	return sendRaw(d.udp, messageWord(n))
}

// repair is called after recvTimeout without a datagram: it checks whether the peer or the program
// has ended, and retransmits an unanswered message. idle is the time without progress.
func (d *device) repair(idle time.Duration) error {
	looks := []unix.PollFd{{Fd: int32(d.peer), Events: unix.POLLIN | unix.POLLRDHUP}}
	if d.program != nil {
		looks = append(looks, unix.PollFd{Fd: int32(d.program.pidfd), Events: unix.POLLIN})
	}
	if _, err := pollRaw(looks, 0); err != nil {
		return err
	}
	switch {
	case len(looks) > 1 && looks[1].Revents != 0:
		return errProgram
	case looks[0].Revents != 0:
		return errPeer
	case idle >= limit:
		return fmt.Errorf("no progress for %v after message %d was sent and message %d was received", limit,
			d.sent, d.got)
	case d.unanswered():
		d.resent++
		return d.sendMessage(d.sent)
	}
	return nil
}
