package packet

import (
	"net/netip"
	"sync"
	"sync/atomic"
)

// Direction is the direction of a frame through a tap.
type Direction uint8

const (
	Outgoing Direction = iota
	Incoming
)

func (d Direction) String() string {
	if d == Outgoing {
		return "out"
	}
	return "in"
}

// TapFrame is a frame that a tap observes.
type TapFrame struct {
	// Data is the UDP payload in one piece. It is read-only and valid until the callback
	// returns.
	Data     []byte
	Src, Dst netip.Addr // without zone
	SrcPort  uint16
	// HeaderSeen, ID and FlagsFragment are as in Received; for outgoing frames they are always
	// exact.
	HeaderSeen             bool
	ID, FlagsFragment      uint16
	TrafficClass, HopLimit uint8
}

// Tap returns l with see called for every sent and received frame. The calls do not overlap and are
// in causal order: a response is never seen before its request. An outgoing frame is seen after
// Send has processed it, even if the host rejected the frame. see must not use the link.
func Tap(l Link, see func(Direction, TapFrame)) Link {
	return &tap{Link: l, see: see, src: l.Local().WithZone("")}
}

// TapWhile is like [Tap], but calls see only while on is true. The caller may change on at any
// time. While on is false, the only cost is one load of on per batch. The tap does not appear in
// the name of the link.
func TapWhile(l Link, on *atomic.Bool, see func(Direction, TapFrame)) Link {
	return &tap{Link: l, see: see, src: l.Local().WithZone(""), on: on}
}

type tap struct {
	Link
	see func(Direction, TapFrame)
	src netip.Addr
	on  *atomic.Bool // nil means always on

	mu  sync.Mutex
	buf []byte
}

func (t *tap) Caps() Caps {
	c := t.Link.Caps()
	if t.on == nil {
		c.Name = "tap(" + c.Name + ")"
	}
	return c
}

// disabled reports whether the tap is disabled.
func (t *tap) disabled() bool { return t.on != nil && !t.on.Load() }

func (t *tap) Stats() Stats { return StatsOf(t.Link) }

func (t *tap) Send(b *Batch) error {
	if t.disabled() {
		return t.Link.Send(b)
	}
	// Holding mu while sending ensures that responses are not seen before the frames.
	t.mu.Lock()
	defer t.mu.Unlock()
	first := b.Sent
	err := t.Link.Send(b)
	for i := first; i < b.Sent; i++ {
		if f := b.At(i); f.Path != nil {
			t.observeSent(f)
		}
	}
	return err
}

// observeSent passes an outgoing frame to see. mu is held.
func (t *tap) observeSent(f *Frame) {
	t.buf = f.AppendTo(t.buf[:0])
	t.see(Outgoing, TapFrame{
		Data: t.buf, Src: t.src, Dst: f.Path.Dst.WithZone(""), SrcPort: f.SrcPort,
		HeaderSeen: true, ID: f.ID, FlagsFragment: f.FlagsFragment,
		TrafficClass: f.Path.TrafficClass, HopLimit: f.Path.HopLimitOrDefault(),
	})
}

func (t *tap) Recv(rb *RecvBatch) error {
	if err := t.Link.Recv(rb); err != nil {
		return err
	}
	t.observeAll(rb)
	return nil
}

// Join joins group and taps the receiver.
func (t *tap) Join(group netip.Addr) (Receiver, error) {
	r, err := Join(t.Link, group)
	if err != nil {
		return nil, err
	}
	return &tapReceiver{r, t}, nil
}

type tapReceiver struct {
	Receiver
	tap *tap
}

func (r *tapReceiver) Stats() Stats { return StatsOf(r.Receiver) }

func (r *tapReceiver) Recv(rb *RecvBatch) error {
	if err := r.Receiver.Recv(rb); err != nil {
		return err
	}
	r.tap.observeAll(rb)
	return nil
}

func (t *tap) observeAll(rb *RecvBatch) {
	if t.disabled() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range rb.Frames {
		f := &rb.Frames[i]
		t.see(Incoming, TapFrame{
			Data: f.Data, Src: f.Src, Dst: f.Dst, SrcPort: f.SrcPort,
			HeaderSeen: f.HeaderSeen, ID: f.ID, FlagsFragment: f.FlagsFragment,
			TrafficClass: f.TrafficClass, HopLimit: f.HopLimit,
		})
	}
}
