package packet

import (
	"errors"
	"fmt"
	"net/netip"
)

// Caps describes the capabilities of a link.
type Caps struct {
	// Name is the kind of the link, decorators first: "udp", "tap(fault(pipe))".
	Name string
	// MTU is the MTU of the network device: the maximum IP packet in bytes, including the IP
	// header.
	MTU int
	// Batch is the number of frames per call that the link handles best.
	Batch int
	// ReportsHeader means that HeaderSeen is set in received frames, except in the second and later
	// frames of an IPv4 segment train.
	ReportsHeader bool
	// GSO means that the link has segmentation offload: it passes frames of equal size to one path
	// to the host together, as a segment train.
	GSO bool
	// Detail is further information for display; usually "".
	Detail string
}

// Link sends and receives frames at one local address. Prepare, Send and Recv may be called
// concurrently, with different batches; Close may be called at any time.
type Link interface {
	Caps() Caps
	// Local returns the address that frames are sent from and received at. A link-local IPv6
	// address has its zone.
	Local() netip.Addr
	// Prepare sets SrcPort, ID and FlagsFragment of the frames from b.Sent on. They depend on
	// the frame lengths: after Prepare, the only change allowed is to append to Trailer within
	// its capacity, the same number of bytes in every frame.
	Prepare(b *Batch)
	// Send sends the frames from b.Sent on, in order, and advances b.Sent. It waits for buffer
	// space for a limited time only: see [Stats.TxQueueFull]. Frames that the host rejects are
	// skipped and counted, the others are sent, and Send returns a *SendError. After
	// [ErrReprepare] the caller prepares and seals the frames from b.Sent on again. After
	// Close, Send returns an error that wraps net.ErrClosed.
	Send(b *Batch) error
	// Recv waits for at least one frame and sets rb.Frames. After Close it returns an error
	// that wraps net.ErrClosed.
	Recv(rb *RecvBatch) error
	// Close closes the link and wakes all goroutines waiting in it. Closing again does nothing.
	Close() error
}

// Resizable is a link that accepts a new MTU after the MTU of its network device has changed, such
// as the links of package socket. Decorators do not forward SetMTU: only the code that opened the
// link calls it.
type Resizable interface {
	// SetMTU sets the MTU that Caps returns, in bytes. It may be called at any time.
	SetMTU(mtu int)
}

// Stats counts the operations of a link since it was opened. It counts the frames of the caller,
// not the messages of system calls.
type Stats struct {
	TxFrames, TxBytes uint64 // sent to the network; bytes of UDP payload
	TxCalls           uint64 // calls into the host (system calls) to send them
	TxRefused         uint64 // frames that the host rejected
	// TxNoNeighbour counts frames that were dropped because the link-layer address of their
	// next hop is unknown. The kernel would queue them for about 3 s in the send buffer that
	// all destinations share. The link therefore sends them only while no more than an eighth
	// of the send buffer is in use. Beyond that it sends one frame per second to each next hop,
	// to trigger neighbour discovery, within a limit of its own.
	TxNoNeighbour uint64
	// TxQueueFull counts frames that were dropped after waiting a second for send buffer space.
	TxQueueFull       uint64
	RxFrames, RxBytes uint64 // received by the callers of Recv
	RxCalls           uint64 // calls into the host that returned at least one frame
	RxDropped         uint64 // dropped because the receive queue was full, as far as the host reports it
	RxMalformed       uint64 // dropped because truncated or because of invalid headers
}

// Add adds the counts of o to s.
func (s *Stats) Add(o Stats) {
	s.TxFrames += o.TxFrames
	s.TxBytes += o.TxBytes
	s.TxCalls += o.TxCalls
	s.TxRefused += o.TxRefused
	s.TxNoNeighbour += o.TxNoNeighbour
	s.TxQueueFull += o.TxQueueFull
	s.RxFrames += o.RxFrames
	s.RxBytes += o.RxBytes
	s.RxCalls += o.RxCalls
	s.RxDropped += o.RxDropped
	s.RxMalformed += o.RxMalformed
}

// StatsReporter is a link with counters. All links of this module have counters; decorators return
// the counts of the wrapped link.
type StatsReporter interface{ Stats() Stats }

// ErrReprepare is returned by Send if the host rejects the segmentation that Prepare chose,
// before any frame from b.Sent on was sent. The values that Prepare set for these frames are
// then wrong: call Prepare again, replace the seal in Trailer of the frames from b.Sent on, and
// call Send again.
var ErrReprepare = errors.New("packet: host refuses segmentation offload: prepare and seal the remaining frames again")

// ErrTooLong is the error for a frame that exceeds the MTU of its path.
var ErrTooLong = errors.New("frame longer than the MTU of the path")

// ErrAddressFamily is the error for a path to a destination of another address family than the
// link's.
var ErrAddressFamily = errors.New("destination is not of the link's address family")

// SendError is the error of a Send that processed the whole batch, but the host rejected some
// frames.
type SendError struct {
	Refused int   // number of rejected frames
	Frame   int   // index in the batch of the first rejected frame
	Dst     Path  // path of that frame
	Len     int   // length of that frame in bytes of UDP payload
	Err     error // why that frame was rejected
}

func (e *SendError) Error() string {
	return fmt.Sprintf("packet: %d frames not sent; the first is frame %d, %d bytes to %v: %v",
		e.Refused, e.Frame, e.Len, e.Dst.Dst, e.Err)
}

func (e *SendError) Unwrap() error { return e.Err }

// Refuse records that the n frames of b from i on were rejected with err. It returns e, or a new
// SendError if e is nil.
func (e *SendError) Refuse(b *Batch, i, n int, err error) *SendError {
	if e == nil {
		f := b.At(i)
		e = &SendError{Frame: i, Len: f.Len(), Err: err}
		if f.Path != nil {
			e.Dst = *f.Path
		}
	}
	e.Refused += n
	return e
}

// ErrorOrNil returns e as an error, nil if e is nil.
func (e *SendError) ErrorOrNil() error {
	if e == nil {
		return nil
	}
	return e
}

// StatsOf returns the counts of l, all zero if l is not a [StatsReporter].
func StatsOf(l any) Stats {
	if c, ok := l.(StatsReporter); ok {
		return c.Stats()
	}
	return Stats{}
}
