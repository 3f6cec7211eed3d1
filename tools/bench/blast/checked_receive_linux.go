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

// checkedBatch is the number of trains that the receiver of checked packets receives at once.
const checkedBatch = 8

// skew is the offset of a receive buffer from a multiple of 16 bytes: the data after a BTH is
// then at a multiple of 16, as in gorxe's udp link.
const skew = 16 - bth.BTHLen

// aligned returns n bytes that begin skew bytes after a multiple of 16.
func aligned(n int) []byte { return make([]byte, n+skew)[skew:] }

// processor processes the packets that a checker receives.
type processor interface {
	take(n int)          // takes n received trains, none after recvTimeout
	answer(fd int) error // answers what was taken
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
	next   bth.PSN       // PSN after that of the last packet that arrived
	spin   time.Duration // time to poll for packets before sleeping

	counts
}

// counts are numbers of packets: those with a correct ICRC, each once, those with a wrong one,
// and those that Result.Repaired and Result.Duplicates count.
type counts struct{ good, wrong, repaired, duplicates uint64 }

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

// processor returns the processor of the packets. fd is the socket that it will answer from.
func (k *checker) processor(fd int) (processor, error) {
	switch {
	case k.c.Requests:
		return newReader(fd, k)
	case k.c.reliable():
		return newLossyReceiver(k), nil
	}
	return k, nil
}

// receive receives trains from a socket and returns their number, 0 after recvTimeout.
func (k *checker) receive(fd int) (int, error) {
	at := uintptr(unsafe.Pointer(&k.msgs))
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), at, checkedBatch, unix.MSG_DONTWAIT, 0, 0)
	if errno == unix.EAGAIN && k.spin > 0 {
		for begin := time.Now(); errno == unix.EAGAIN && time.Since(begin) < k.spin; {
			n, _, errno = unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), at, checkedBatch, unix.MSG_DONTWAIT, 0, 0)
		}
	}
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

// answer acknowledges all packets so far. An acknowledgement that the kernel does not accept
// is lost.
func (k *checker) answer(fd int) error {
	packets.SealAck(k.ack, k.next)
	_, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&k.ack[0])), packets.AckLen,
		unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 && !lostInSending(errno) {
		return fmt.Errorf("sending an acknowledgement: %w", errno)
	}
	return nil
}

// lostInSending reports whether errno, not 0, means that a datagram was not sent and is lost, and
// the socket still works.
func lostInSending(errno unix.Errno) bool {
	switch errno {
	case unix.EAGAIN, unix.EINTR, unix.ENOBUFS, unix.ECONNREFUSED:
		return true
	}
	return false
}

// countChecked receives packets with ICRC until the counted time is over. The clock starts with
// the first one.
func (r *receiver) countChecked(c Config) (Result, error) {
	if err := r.answerFirst(); err != nil {
		return Result{}, err
	}
	k := newChecker(c)
	p, err := k.processor(r.fd)
	if err != nil {
		return Result{}, err
	}
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
			res.Repaired, res.Duplicates = k.repaired, k.duplicates
			res.Bytes = k.good * uint64(c.payload())
			return res, nil
		}
		if now.Before(from) {
			k.counts = counts{}
		} else {
			res.Calls++
		}
		p.take(n)
		if err := p.answer(r.fd); err != nil {
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
