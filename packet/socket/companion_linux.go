package socket

import (
	"net/netip"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
)

// Companion is the UDP socket beside the sockets of a link of another kind: it owns the port, and carries what they do not.
// The link embeds it, and so has its methods where it has none of its own.
type Companion struct{ *udp }

// ListenCompanion opens the companion of a link on addr, which sends and receives as the link of [ListenUDP] does.
func ListenCompanion(addr netip.Addr, opts UDPOptions) (Companion, error) {
	u, err := listenUDP(addr, opts, false)
	return Companion{u}, err
}

// Interface returns the name of the network interface of the address, "" if that is not known.
func (c Companion) Interface() string { return c.ifname }

// MTU returns what SetMTU was called with last.
func (c Companion) MTU() int { return int(c.mtu.Load()) }

// Conn returns the socket.
func (c Companion) Conn() syscall.RawConn { return c.raw }

// Counters returns what Stats reports, for the link to count its own frames with.
func (c Companion) Counters() *packet.Counters { return &c.stats }

// HopsErr tells why [Companion.HopTo] must not be called, nil if it may be.
func (c Companion) HopsErr() error { return c.hopsErr }

// HopTo returns the next hop to dst, nil if its link-layer address is not known.
func (c Companion) HopTo(dst netip.Addr) *route.Hop { return c.hops.To(dst) }

// SendUpTo is Send of the frames from b.Sent up to end, which is not inside a segment train. Refused frames go to refused.
func (c Companion) SendUpTo(b *packet.Batch, end int, refused **packet.SendError) error {
	return c.send(b, end, refused)
}
