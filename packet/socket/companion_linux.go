package socket

import (
	"net/netip"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
)

// Companion is the UDP socket of a link of another kind: it owns the port, and sends and receives
// what the link's own sockets do not. The link embeds it and inherits its methods.
type Companion struct{ *udp }

// ListenCompanion opens the companion of a link on addr. The companion sends and receives like a
// [ListenUDP] link.
func ListenCompanion(addr netip.Addr, opts UDPOptions) (Companion, error) {
	u, err := listenUDP(addr, opts, false)
	return Companion{u}, err
}

// Interface returns the name of the network interface that has the link's address, "" if unknown.
func (c Companion) Interface() string { return c.ifname }

// MTU returns the current MTU; see SetMTU.
func (c Companion) MTU() int { return int(c.mtu.Load()) }

// Conn returns the socket.
func (c Companion) Conn() syscall.RawConn { return c.raw }

// Counters returns the counters that Stats returns. The link adds its own frames to them.
func (c Companion) Counters() *packet.Counters { return &c.stats }

// HopsErr returns nil if the link can look up next hops ([Companion.HopTo] may be called only
// then), else the error of opening the lookup.
func (c Companion) HopsErr() error { return c.hopsErr }

// HopTo returns the next hop to dst, nil if its link-layer address is not known.
func (c Companion) HopTo(dst netip.Addr) *route.Hop { return c.hops.To(dst) }

// SendUpTo is Send for the frames from b.Sent up to, but not including, frame end. end must not be
// inside a segment train. It records rejected frames in refused.
func (c Companion) SendUpTo(b *packet.Batch, end int, refused **packet.SendError) error {
	return c.send(b, end, refused)
}
