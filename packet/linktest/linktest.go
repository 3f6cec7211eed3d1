// Package linktest is the test suite that every packet.Link must pass, and helpers for tests of
// links.
package linktest

import (
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

// Open returns two links that reach each other and lose no frame while at most Window bytes and
// WindowFrames frames are in flight. The suite closes them. It calls Open once for every test.
type Open func(t *testing.T) (a, b packet.Link)

// Window and WindowFrames are the maximum that the suite has in flight, in bytes of UDP payload and
// in frames.
const (
	Window       = 96 << 10
	WindowFrames = 256
)

// Wire returns the next IP datagram, from the IP header on, that was captured between the two
// links.
type Wire func() ([]byte, error)

// Option adapts the suite to a link.
type Option func(*suite)

// WithWire sets a function that opens a capture of the packets that link a sends. It is
// required for links that do not see IP headers. open is called after Open and may skip the
// test; it registers its own clean-up with t.Cleanup.
func WithWire(open func(t *testing.T) Wire) Option { return func(s *suite) { s.wire = open } }

// NoWire states that the links do not see IP headers and that no capture is possible: the
// tests of the header on the wire are skipped.
func NoWire() Option { return func(s *suite) { s.unwatched = true } }

// At sets a function that calls do in the network namespace of a link, for tests that open
// further sockets.
func At(call func(t *testing.T, l packet.Link, do func())) Option {
	return func(s *suite) { s.at = call }
}

type suite struct {
	open Open
	wire func(t *testing.T) Wire
	at   func(t *testing.T, l packet.Link, do func())

	unwatched bool
}

// Run runs the suite on the links that open returns.
func Run(t *testing.T, open Open, options ...Option) {
	s := &suite{open: open, at: func(_ *testing.T, _ packet.Link, do func()) { do() }}
	for _, o := range options {
		o(s)
	}
	for _, test := range []struct {
		name string
		run  func(t *testing.T, a, b *end)
	}{
		{"frames of mixed sizes arrive whole and in order", mixedSizes},
		{"equal frames arrive whole and in order, the last shorter", equalSizes},
		{"many pieces are gathered", manyPieces},
		{"a batch larger than one call arrives whole and in order", bigBatches},
		{"both directions at once", bothDirections},
		{"each frame keeps its path's marks", severalPaths},
		{"addresses and ports are those of the ends", addresses},
		{"the loan of the bytes ends when Send returns", loan},
		{"a batch can be sent again", again},
		{"lone frames arrive in the order they were put in", lone},
		{"a frame over the MTU is refused, its neighbours go", overMTU},
		{"a destination of the other family is refused, its neighbours go", otherFamily},
		{"nothing is allocated in steady state", noAllocation},
		{"frames are pending until the receiver has found no more", pending},
		{"a polling receiver gets the frames that arrived", tryRecv},
		{"a waiting and a polling receiver get everything in order, in turn", inTurn},
		{"a waiting receiver takes nothing while another has the lock", aside},
		{"of several queues each has what is for it", s.queues},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := s.ends(t)
			test.run(t, a, b)
		})
	}
	if !s.unwatched {
		t.Run("the announced header is what stands on the wire", s.announced)
		t.Run("the announced header to a group is what stands on the wire", s.announcedToGroup)
	}
	t.Run("what is sent to a group comes to each member once, and to nobody else", s.group)
	t.Run("a member that has left gets nothing, the others go on", s.leave)
	t.Run("what is no group of the link's family cannot be joined", s.noGroup)
	t.Run("sending to a group and receiving allocates nothing", s.groupAllocation)
	t.Run("Close wakes a waiting Recv", s.closeWakes)
	t.Run("a closed link says so", s.closed)
	t.Run("Close leaves no goroutine", s.noGoroutine)
}

func (s *suite) join(t *testing.T, l packet.Link, group netip.Addr) (r packet.Receiver, err error) {
	s.at(t, l, func() { r, err = packet.Join(l, group) })
	return r, err
}

// ends opens the links of a test and closes them after it.
func (s *suite) ends(t *testing.T) (a, b *end) {
	la, lb := s.open(t)
	a = &end{t: t, link: la, from: la, to: packet.Path{Src: la.Local(), Dst: lb.Local()}, batch: packet.NewBatch(256),
		in: packet.NewRecvBatch(64)}
	b = &end{t: t, link: lb, from: lb, to: packet.Path{Src: lb.Local(), Dst: la.Local()}, batch: packet.NewBatch(256),
		in: packet.NewRecvBatch(64)}
	t.Cleanup(func() {
		closeLink(t, la)
		closeLink(t, lb)
	})
	watch(t, la, lb)
	return a, b
}

func closeLink(t *testing.T, l packet.Link) {
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
