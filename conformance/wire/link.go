package wire

import (
	"errors"
	"net/netip"
	"time"
)

// Link sends and receives packets at one local address. Send and Recv may be called at the same
// time, each by one goroutine.
type Link interface {
	Local() netip.Addr
	// Raw reports whether the link can send packets that NeedsRaw reports, and returns the IP
	// headers of received ones.
	Raw() bool
	// MTU returns the maximum length of an IP packet in bytes.
	MTU() int
	// Send sends p to port 4791 of dst and returns the bytes of the UDP payload.
	Send(dst netip.Addr, p *Packet) (payload []byte, err error)
	// Recv waits for a packet until the deadline. It returns ErrTimeout if none came.
	Recv(deadline time.Time) (*Received, error)
	// Close ends Recv with net.ErrClosed.
	Close() error
}

// Listen opens a raw link at a local address if the process may, else a UDP link. raw is the error
// of the raw link if it is a UDP link.
func Listen(local netip.Addr) (l Link, raw, err error) {
	if l, raw = ListenRaw(local); raw == nil {
		return l, nil, nil
	}
	if !errors.Is(raw, ErrRaw) {
		return nil, nil, raw
	}
	l, err = ListenUDP(local)
	return l, raw, err
}

// ErrTimeout is the error of Recv at its deadline.
var ErrTimeout = errors.New("nothing was received in time")

// ErrRaw is the error of a packet that only a raw link can send.
var ErrRaw = errors.New("this packet needs a raw link: run as root, or with CAP_NET_RAW")

// ErrUnsendable is the error of a packet that this link cannot send to this destination.
var ErrUnsendable = errors.New("this packet cannot be sent unchanged")
