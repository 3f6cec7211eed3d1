// Package blast sends UDP datagrams as fast as the kernel accepts them and counts those that
// arrive: the limit of a path for UDP programs. Datagrams are sent in trains (UDP_SEGMENT) and
// received in trains (UDP_GRO, recvmmsg). They are not acknowledged, and their content is not
// examined.
//
// With [Config.ICRC] it measures the limit of a RoCE end in user space: the sender gathers BTH,
// payload and ICRC of each packet, and the receiver checks the ICRC, copies the payload, and
// acknowledges each batch. There are no queue pairs, work requests or retransmissions.
//
// With [Config.Requests] it measures the limit of a READ: the receiver sends a READ request for
// each two packets instead of the acknowledgements.
//
// With [Config.Lose] it measures the limit of a reliable end: both ends lose packets, and the
// sender repairs one gap per round trip: that which the NAK of the receiver names.
// [Config.Reliable] is the same loop without losses.
package blast

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gorxe/gorxe/tools/bench/packets"
)

// Config configures the sender, which passes it to the receiver.
type Config struct {
	Segment int  `json:"segment"` // bytes of UDP payload of a datagram, 1 to MaxSegment
	Lead    int  `json:"lead"`    // of a single datagram before each train; 0: none
	ICRC    bool `json:"icrc"`    // datagrams are packets with BTH and ICRC
	Copied  bool `json:"copied"`  // the sender copies each payload before it computes the ICRC
	// Regions is the number of regions, each of one message, that the packets go through at both
	// ends, as those of as many queue pairs; 0 means 1.
	Regions int `json:"regions"`
	// AsLink makes the sender use its socket as gorxe's udp link does: unconnected, registered with
	// epoll, and with the segment length as a control message.
	AsLink bool `json:"as_link"`
	// Requests replaces the acknowledgements by a READ request for each two packets.
	Requests bool `json:"requests"`
	// Reliable makes the sender send lost packets again. Both ends poll. Result counts each
	// packet once.
	Reliable bool `json:"reliable"`
	// Lose is the fraction of arriving packets and acknowledgements that each end loses, 0 to
	// less than 1. If it is not 0, the loop is reliable.
	Lose float64       `json:"lose"`
	Warm time.Duration `json:"warm"` // warm-up, not counted
	Time time.Duration `json:"time"` // counted time
}

// MaxSegment is the maximum length of a datagram, in bytes of UDP payload.
const MaxSegment = 65507 - 8

// maxTrain is the maximum number of segments of a UDP_SEGMENT datagram in all Linux versions that
// support it.
const maxTrain = 64

// train returns the number of datagrams of a train.
func (c Config) train() int { return max(1, min(maxTrain, MaxSegment/c.Segment)) }

// segments returns the number of datagrams in a received train of the given length.
func (c Config) segments(length int) uint64 {
	if length == c.Lead {
		return 1
	}
	return uint64((length + c.Segment - 1) / c.Segment)
}

// reliable reports whether lost packets are sent again.
func (c Config) reliable() bool { return c.Reliable || c.Lose > 0 }

func (c Config) check() error {
	switch {
	case c.Segment < 1 || c.Segment > MaxSegment:
		return fmt.Errorf("datagrams of %d bytes: choose 1 to %d", c.Segment, MaxSegment)
	case c.Lead < 0 || c.Lead > MaxSegment:
		return fmt.Errorf("a leading datagram of %d bytes: choose 1 to %d, or 0 for none", c.Lead, MaxSegment)
	case c.ICRC && (c.Lead > 0 || c.Segment <= packets.Overhead):
		return fmt.Errorf("packets with ICRC of %d bytes behind one of %d: choose more than %d behind none",
			c.Segment, c.Lead, packets.Overhead)
	case c.Copied && !c.ICRC:
		return fmt.Errorf("payloads that are copied without an ICRC: choose packets with ICRC")
	case (c.Regions > 1 || c.AsLink) && !c.ICRC:
		return fmt.Errorf("%d regions, or a link's socket, for packets without an ICRC: choose packets with ICRC",
			c.Regions)
	case c.Regions < 0 || c.Regions > maxRegions:
		return fmt.Errorf("%d regions: choose 0 to %d", c.Regions, maxRegions)
	case c.AsLink && (c.reliable() || c.Requests):
		return fmt.Errorf("a link's socket for a loop with losses or requests: choose packets with ICRC alone")
	case c.Requests && !c.ICRC:
		return fmt.Errorf("READ requests for packets without an ICRC: choose packets with ICRC")
	case !(c.Lose >= 0 && c.Lose < 1): // NaN too
		return fmt.Errorf("losing %v of the packets: choose 0 to less than 1", c.Lose)
	case c.reliable() && (!c.ICRC || c.Copied || c.Requests):
		return fmt.Errorf(
			"repairing losses without an ICRC, or with copies or requests: choose packets with ICRC alone")
	case c.Time <= 0 || c.Warm < 0:
		return fmt.Errorf("warm-up of %v before a measurement of %v: the first must not be negative, the second must be more than 0",
			c.Warm, c.Time)
	}
	return nil
}

// Result is what arrived.
type Result struct {
	// Bytes is the amount of UDP payload; with Config.ICRC, of the payload of packets with a
	// correct ICRC.
	Bytes    uint64 `json:"bytes"`
	Segments uint64 `json:"segments"`        // with Config.ICRC: only those with a correct ICRC
	Wrong    uint64 `json:"wrong,omitempty"` // packets with a wrong ICRC
	// Repaired and Duplicates are of a reliable loop: packets that filled a gap before later ones,
	// and packets that arrived more than once, which Segments does not count again.
	Repaired   uint64  `json:"repaired,omitempty"`
	Duplicates uint64  `json:"duplicates,omitempty"`
	Calls      uint64  `json:"calls"` // calls of recvmmsg
	Seconds    float64 `json:"seconds"`
}

// hello is the receiver's first message: the port at which it receives.
type hello struct {
	Port int `json:"port"`
}

// errNothing is the error of a receiver that received nothing.
var errNothing = errors.New("no datagram came: is UDP let through?")

// limit is the time without a message after which the peer is considered dead.
const limit = 10 * time.Second

// Receive serves one sender that connects to l, and reports to it and to the caller what arrived.
func Receive(l net.Listener) (Result, error) {
	conn, err := l.Accept()
	if err != nil {
		return Result{}, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(limit))
	local, ok := conn.LocalAddr().(*net.TCPAddr)
	if !ok {
		return Result{}, fmt.Errorf("%v is no address to receive datagrams at", conn.LocalAddr())
	}
	s, err := listen(local.AddrPort().Addr().Unmap())
	if err != nil {
		return Result{}, err
	}
	defer s.close()
	if err := json.NewEncoder(conn).Encode(hello{s.port}); err != nil {
		return Result{}, err
	}
	var c Config
	if err := json.NewDecoder(conn).Decode(&c); err != nil {
		return Result{}, fmt.Errorf("what the sender is going to send: %w", err)
	}
	if err := c.check(); err != nil {
		return Result{}, err
	}
	r, err := s.count(c)
	if err != nil {
		return r, err
	}
	conn.SetDeadline(time.Now().Add(limit))
	return r, json.NewEncoder(conn).Encode(r)
}

// Send sends to the receiver at the other end of conn, and returns what arrived there.
func Send(conn net.Conn, c Config) (Result, error) {
	if err := c.check(); err != nil {
		return Result{}, err
	}
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return Result{}, fmt.Errorf("%v is no address to send datagrams to", conn.RemoteAddr())
	}
	conn.SetDeadline(time.Now().Add(limit + c.Warm + c.Time))
	dec := json.NewDecoder(conn)
	var h hello
	if err := dec.Decode(&h); err != nil {
		return Result{}, fmt.Errorf("where the receiver receives: %w", err)
	}
	if h.Port < 1 || h.Port > 65535 {
		return Result{}, fmt.Errorf("the receiver receives at port %d, which there is not", h.Port)
	}
	if err := json.NewEncoder(conn).Encode(c); err != nil {
		return Result{}, err
	}
	var r Result
	done := make(chan error, 1)
	go func() { done <- dec.Decode(&r) }()
	sent := sendUntil(remote.AddrPort().Addr().Unmap(), uint16(h.Port), c, done)
	if sent != nil {
		conn.Close()
		return r, errors.Join(sent, <-done)
	}
	return r, nil
}
