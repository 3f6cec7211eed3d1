// Package blast sends UDP datagrams as fast as the kernel takes them and counts what arrives: the
// limit of a path for whoever speaks UDP. Datagrams leave in trains (UDP_SEGMENT) and are received
// in trains (UDP_GRO, recvmmsg). Nothing is acknowledged and nothing is looked at.
//
// With [Config.ICRC] it is the limit of a RoCE end in user space: the sender gathers BTH, payload
// and ICRC of each packet, and the receiver checks the ICRC, copies the payload, and acknowledges
// each batch. There are no queue pairs, no work requests, and no retransmission.
package blast

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/gorxe/gorxe/tools/bench/packets"
)

// Config says what is sent. The sender tells the receiver.
type Config struct {
	Segment int           `json:"segment"` // bytes of UDP payload of a datagram, 1 to MaxSegment
	Lead    int           `json:"lead"`    // of one that leaves by itself before each train, up to MaxSegment; 0 for none
	ICRC    bool          `json:"icrc"`    // datagrams are packets with BTH and ICRC, whose payload is copied
	Warm    time.Duration `json:"warm"`    // that does not count, before what does
	Time    time.Duration `json:"time"`    // that counts
}

// MaxSegment is the longest datagram, in bytes of UDP payload.
const MaxSegment = 65507 - 8

// maxTrain is how many datagrams Linux makes of one, since it has UDP_SEGMENT.
const maxTrain = 64

// train is how many datagrams leave at a time.
func (c Config) train() int { return max(1, min(maxTrain, MaxSegment/c.Segment)) }

// segments is how many datagrams came as a train of the given length.
func (c Config) segments(length int) uint64 {
	if length == c.Lead {
		return 1
	}
	return uint64((length + c.Segment - 1) / c.Segment)
}

func (c Config) check() error {
	switch {
	case c.Segment < 1 || c.Segment > MaxSegment:
		return fmt.Errorf("datagrams of %d bytes: choose 1 to %d", c.Segment, MaxSegment)
	case c.Lead < 0 || c.Lead > MaxSegment:
		return fmt.Errorf("a leading datagram of %d bytes: choose 1 to %d, or 0 for none", c.Lead, MaxSegment)
	case c.ICRC && (c.Lead > 0 || c.Segment <= packets.Overhead):
		return fmt.Errorf("packets with ICRC of %d bytes behind one of %d: choose more than %d behind none",
			c.Segment, c.Lead, packets.Overhead)
	case c.Time <= 0 || c.Warm < 0:
		return fmt.Errorf("%v before %v that count: the first must not be negative, the second must be more than 0", c.Warm, c.Time)
	}
	return nil
}

// Result is what arrived.
type Result struct {
	// Bytes is of UDP payload; with Config.ICRC of the payload of packets with the right ICRC.
	Bytes    uint64  `json:"bytes"`
	Segments uint64  `json:"segments"`        // with Config.ICRC: those with the right ICRC
	Wrong    uint64  `json:"wrong,omitempty"` // packets with a wrong ICRC
	Calls    uint64  `json:"calls"`           // of recvmmsg
	Seconds  float64 `json:"seconds"`
}

// hello is the receiver's first word: where it receives.
type hello struct {
	Port int `json:"port"`
}

// errNothing is the error of a receiver that has nothing to count.
var errNothing = errors.New("no datagram came: is UDP let through?")

// limit bounds a run: a peer that says nothing for so long is gone.
const limit = 10 * time.Second

// Receive serves one sender that calls on l, and tells it and the caller what arrived.
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
