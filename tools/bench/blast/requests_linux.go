package blast

import (
	"fmt"
	"slices"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/tools/bench/packets"
	"golang.org/x/sys/unix"
)

const (
	// packetsPerRequest is the number of packets that a request asks for, as many as gorxe's
	// READ requests on a link with segmentation offload.
	packetsPerRequest = 2
	// requestTrains is the maximum number of trains of requests that one call sends: those for
	// two batches of the longest trains.
	requestTrains = checkedBatch
	// requestRoom is the maximum length in bytes of a train of requests.
	requestRoom = maxTrain * packets.RequestLen
)

// reader is the receiver of the responses of a READ. It does not acknowledge packets: for each
// two that have arrived it requests two more, a window ahead. The sender sends the first window
// without a request.
type reader struct {
	*checker
	requested bth.PSN // PSN of the first packet that was not requested yet
	requests  []byte
	iovs      [requestTrains]unix.Iovec
	msgs      [requestTrains]message
}

// newReader returns a reader that sends its requests in trains from fd.
func newReader(fd int, k *checker) (*reader, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_UDP, unix.UDP_SEGMENT, packets.RequestLen); err != nil {
		return nil, fmt.Errorf("UDP_SEGMENT of %d bytes: %w", packets.RequestLen, err)
	}
	q := &reader{checker: k, requested: bth.PSN(0).Add(k.c.window())}
	for range requestTrains * maxTrain {
		q.requests = append(q.requests, packets.New(bth.RCReadRequest, packets.RequestLen)...)
	}
	for i := range q.msgs {
		q.iovs[i].Base = &q.requests[i*requestRoom]
		q.iovs[i].SetLen(requestRoom)
		q.msgs[i] = newMessage(&q.iovs[i])
	}
	return q, nil
}

// take checks the packets of n trains and copies their payload. After recvTimeout it makes the last
// request due again, because it may be lost, and the sender may wait for it.
func (q *reader) take(n int) {
	if n == 0 {
		q.requested = q.requested.Sub(packetsPerRequest)
		return
	}
	q.checker.take(n)
}

// fill makes the requests that are due and returns their number. If there are more than one call
// sends, it leaves out the first ones: a later request implies them.
func (q *reader) fill() int {
	end := q.next.Add(q.c.window())
	if left := end.Diff(q.requested) - packetsPerRequest*requestTrains*maxTrain; left > 0 {
		q.requested = q.requested.Add(uint32(left))
	}
	n := 0
	for ; end.Diff(q.requested) >= packetsPerRequest; n++ {
		packets.SealRequest(q.requests[n*packets.RequestLen:][:packets.RequestLen], q.requested, bth.RETH{
			VA:     uint64(q.requested) * uint64(q.c.payload()),
			DMALen: uint32(packetsPerRequest * q.c.payload()),
		})
		q.requested = q.requested.Add(packetsPerRequest)
	}
	return n
}

// answer sends the requests that are due in one call. Requests that the kernel does not accept are
// lost.
func (q *reader) answer(fd int) error {
	n := q.fill()
	if n == 0 {
		return nil
	}
	last := (n - 1) / maxTrain
	q.iovs[last].SetLen((n - last*maxTrain) * packets.RequestLen)
	_, err := sendRaw(fd, q.msgs[:last+1], unix.MSG_DONTWAIT)
	q.iovs[last].SetLen(requestRoom)
	if errno, ok := err.(unix.Errno); ok && !lostInSending(errno) {
		return fmt.Errorf("sending requests: %w", err)
	}
	return nil
}

// takeRequests takes a train of requests: the packets up to a window before the last requested one
// have arrived or are lost.
func (s *bursts) takeRequests(train []byte) {
	for b := range slices.Chunk(train, packets.RequestLen) {
		if psn, r, ok := packets.ReadRequest(b); ok {
			end := psn.Add(r.DMALen / uint32(s.c.payload()))
			s.acknowledge(end.Sub(s.c.window()))
		}
	}
}
