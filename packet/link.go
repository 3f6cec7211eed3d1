package packet

import (
	"errors"
	"fmt"
	"net/netip"
)

// Caps says what a link can do.
type Caps struct {
	// Name is the kind of the link, decorators first: "udp", "tap(fault(pipe))".
	Name string
	// MTU is that of the network device: the longest IP packet in bytes, IP header included.
	MTU int
	// Batch is the number of frames that the link sends or receives best in one call.
	Batch int
	// SeesHeader says that received frames come with HeaderSeen set, but for those of an IPv4 train behind its first.
	SeesHeader bool
	// GSO says that equal-sized frames to one path leave in one go.
	GSO bool
	// Detail is what else there is to know of the link, for people; "" for most.
	Detail string
}

// Link carries frames from and to one local address. Prepare, Send and Recv may be called from several goroutines
// at once, each with its own batch; Close may be called at any time.
type Link interface {
	Caps() Caps
	// Local returns the address frames leave from and arrive at. A link-local IPv6 address carries its zone.
	Local() netip.Addr
	// Prepare sets SrcPort, ID and FlagsFragment of the frames from b.Sent on. It looks at their lengths: afterwards a
	// frame's Trailer may still grow within its room, by the same amount in every frame, and nothing else may change.
	Prepare(b *Batch)
	// Send sends the frames from b.Sent on, in order, and moves b.Sent on. It waits for room, but not for long: see
	// [Stats.TxQueueFull].
	// Frames the host refuses are skipped and counted, the rest is sent, and a *SendError tells. [ErrReprepare] asks for the
	// frames from b.Sent on to be prepared and sealed again. After Close it returns an error that is net.ErrClosed.
	Send(b *Batch) error
	// Recv waits until there is at least one frame and fills rb.Frames.
	// After Close it returns an error that is net.ErrClosed.
	Recv(rb *RecvBatch) error
	// Close ends the link and wakes everybody waiting in it. Closing again does nothing.
	Close() error
}

// Resizable is a link that wants to be told when the MTU of its network device is another than when it was opened, as
// those of package socket do. Decorators do not pass it on: it is for who opened the link.
type Resizable interface {
	// SetMTU makes mtu, in bytes, what Caps says from now on. It may be called at any time.
	SetMTU(mtu int)
}

// Stats counts what a link did since it was opened. Frames are those of the caller's, not system calls' messages.
type Stats struct {
	TxFrames, TxBytes uint64 // handed to the network; bytes of UDP payload
	TxCalls           uint64 // calls into the host (system calls) to do so
	TxRefused         uint64 // frames the host refused
	// TxNoNeighbour counts frames that were dropped because the host does not know the link-layer
	// address of their next hop. It would keep them until that has answered or not, for about 3 s,
	// in the room that all destinations share. No more go to the host than an eighth of that room
	// holds, besides one each second to each next hop, which makes the host ask for the address, as
	// far as other parts of the room hold those.
	TxNoNeighbour uint64
	// TxQueueFull counts frames that were dropped because the host had no room for them for a second.
	TxQueueFull       uint64
	RxFrames, RxBytes uint64 // handed to the caller of Recv
	RxCalls           uint64 // calls into the host that brought at least one
	RxDropped         uint64 // dropped for want of room in the receive queue, as far as the host tells
	RxMalformed       uint64 // dropped as cut short or as having headers that cannot be
}

// Add adds o to s, count by count.
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

// Counted is a link that counts. The links of this module do; decorators answer for the link they wrap.
type Counted interface{ Stats() Stats }

// ErrReprepare is returned by Send when the host refuses the grouping Prepare chose, before any frame from b.Sent on has
// left. What Prepare announced for these frames will not be what stands on the wire: call Prepare again, seal
// the frames from b.Sent on again (they still hold the old seal in Trailer), and Send.
var ErrReprepare = errors.New("packet: host refuses segmentation offload: prepare and seal the remaining frames again")

// ErrTooLong is a frame longer than the path to its destination takes in one IP packet.
var ErrTooLong = errors.New("frame longer than the MTU of the path")

// ErrAddressFamily is a path whose destination is not of the link's address family.
var ErrAddressFamily = errors.New("destination is not of the link's address family")

// SendError tells that Send went through but the host refused frames.
type SendError struct {
	Refused int   // frames refused
	Frame   int   // index in the batch of the first of them
	Dst     Path  // its path
	Len     int   // its length in bytes of UDP payload
	Err     error // why it was refused
}

func (e *SendError) Error() string {
	return fmt.Sprintf("packet: %d frames not sent; the first is frame %d, %d bytes to %v: %v", e.Refused, e.Frame, e.Len, e.Dst.Dst, e.Err)
}

func (e *SendError) Unwrap() error { return e.Err }

// Refuse records that frames i to i+n of b were refused for err, and returns the record,
// which is a new one if e is nil.
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

// Result is the error of a Send that refused what e records, nil for nothing.
func (e *SendError) Result() error {
	if e == nil {
		return nil
	}
	return e
}

// StatsOf returns what l counted, zeros if it does not count.
func StatsOf(l any) Stats {
	if c, ok := l.(Counted); ok {
		return c.Stats()
	}
	return Stats{}
}
