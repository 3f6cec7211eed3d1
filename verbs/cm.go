package verbs

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/gorxe/gorxe/internal/nic/gsi"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/host/route"
	"github.com/gorxe/gorxe/packet"
)

// PortSpace is the port space of a port of the connection manager, such as RDMA_PS_TCP; see
// [mad.PortSpace].
type PortSpace = mad.PortSpace

// RejectReason is the reason of a rejected connection (IBA table 109); see [mad.RejectReason].
type RejectReason = mad.RejectReason

const (
	PortSpaceTCP = mad.PortSpaceTCP // RDMA_PS_TCP: connections, queue pairs of type RC
	PortSpaceUDP = mad.PortSpaceUDP // RDMA_PS_UDP: datagram services, queue pairs of type UD

	// UDPQKey is the Q_Key that programs that use rdma_cm assign to datagram queue pairs.
	UDPQKey = 0x01234567
)

// Maximum lengths of a program's private data in bytes. Shorter data arrives padded with zeros,
// so a program that needs the length must send it.
const (
	DialPrivateLen   = mad.REQPrivateLen - mad.IPHeaderLen     // Dial: 56
	AcceptPrivateLen = mad.REPPrivateLen                       // Accept: 196
	RejectPrivateLen = mad.REJPrivateLen                       // Reject: 148
	DialUDPrivateLen = mad.SIDRREQPrivateLen - mad.IPHeaderLen // DialUD: 180
	UDPrivateLen     = mad.SIDRREPPrivateLen                   // AcceptUD, and Reject for datagrams: 136
)

// Errors of connections, for errors.Is.
var (
	// ErrUnreachable means that the peer does not answer.
	ErrUnreachable = errors.New("unreachable: the peer does not answer")
	// ErrDisconnected means that the peer disconnected.
	ErrDisconnected = errors.New("peer disconnected")
)

// NotListeningError means that the peer's host answers but has no socket at UDP port 4791:
// neither gorxe nor another NIC runs there. It is also [ErrUnreachable] and ECONNREFUSED.
type NotListeningError struct {
	Host netip.Addr
}

func (e *NotListeningError) Error() string {
	return fmt.Sprintf("no socket on UDP port %d at %v", packet.Port, e.Host)
}

// Is reports whether target is ErrUnreachable or ECONNREFUSED.
func (e *NotListeningError) Is(target error) bool {
	return target == ErrUnreachable || target == syscall.ECONNREFUSED
}

// RejectError means that the peer rejected or abandoned a connection.
type RejectError struct {
	Reason      RejectReason
	PrivateData []byte // 148 bytes, 136 for datagrams; set by the peer's program if Reason is 28 (consumer reject)
}

// Error describes the reason.
func (e *RejectError) Error() string {
	switch e.Reason {
	case mad.RejectInvalidServiceID:
		return "refused: no listener on that port (invalid service ID)"
	case mad.RejectConsumerDefined:
		return "refused by the peer's program (consumer reject)"
	}
	return fmt.Sprintf("refused: %v (reason %d)", e.Reason, uint16(e.Reason))
}

// ConnParam holds the parameters that each end of a connection chooses, as rdma_conn_param. Start
// from [DefaultConnParam]. MaxRdAtomic is the initiator depth and MaxDestRdAtomic the responder
// resources; the connection uses the smaller of what the two ends offer.
type ConnParam struct {
	ConnAttr
	PrivateData []byte // at most DialPrivateLen or AcceptPrivateLen bytes
}

// DefaultConnParam returns [DefaultConnAttr] without private data and with the acknowledgement
// timeout of Linux rdma_cm: 17 (0.5 s). The peer uses the timeout of the end that dials. Linux
// rxe with many connections takes longer to answer than the 67 ms of perftest, and would
// retransmit everything.
func DefaultConnParam() ConnParam {
	p := ConnParam{ConnAttr: DefaultConnAttr()}
	p.Timeout = 17
	return p
}

// connections is the connection manager of a device with the objects that its events belong to.
//
// mu guards the maps, Listener.queue and ConnRequest.waits. It is acquired after the manager's
// lock; no lock of the device is acquired while mu is held.
type connections struct {
	dev  *Device
	open sync.Once
	err  error // error of opening gsi
	gsi  *gsi.Agent
	runs atomic.Bool // whether gsi can be used

	mu        sync.Mutex
	conns     map[mad.CommID]cmEventSink
	listeners map[cm.ListenerID]*Listener
}

// cmEventSink receives the events of one communication ID.
type cmEventSink interface {
	event(e *cm.Event)
}

// cm returns the device's connection manager and starts it on first use.
func (d *Device) cm() (*connections, error) {
	c := &d.connections
	c.open.Do(func() {
		c.dev, c.conns, c.listeners = d, map[mad.CommID]cmEventSink{}, map[cm.ListenerID]*Listener{}
		var secret [32]byte
		// crand.Read never returns an error: see crypto/rand.
		_, _ = crand.Read(secret[:])
		c.gsi, c.err = gsi.Open(d.nic, cm.Config{
			CAGUID: mad.GUID(d.NodeGUID()), Secret: secret,
			Allow: func(peer GID) bool { return d.Admits(peer.Addr()) },
			Local: func(index uint8) (gid GID, mtu MTU, ok bool) {
				g, err := d.GID(int(index))
				return g.GID, g.MTU, err == nil
			},
		}, c.event)
		c.runs.Store(c.err == nil)
	})
	return c, c.err
}

// StartConnManager starts the device's connection manager, as Config.ConnManager does.
func (d *Device) StartConnManager() error {
	_, err := d.cm()
	return err
}

// running returns the manager if it has started, else nil.
func (c *connections) running() *gsi.Agent {
	if !c.runs.Load() {
		return nil
	}
	return c.gsi
}

// event passes an event to the object it belongs to. It runs in the manager's goroutine.
func (c *connections) event(e *cm.Event) {
	switch e.Kind {
	case cm.Requested, cm.SIDRRequested:
		c.request(e)
		return
	}
	c.mu.Lock()
	to := c.conns[e.ID]
	switch e.Kind {
	case cm.Rejected, cm.Unreachable, cm.Disconnected, cm.Resolved:
		delete(c.conns, e.ID)
	}
	c.mu.Unlock()
	if to != nil {
		to.event(e)
	}
}

// enter registers to as the receiver of the events of id. The caller holds the manager's lock, so
// that no event of id occurs before.
func (c *connections) enter(id mad.CommID, to cmEventSink) {
	c.mu.Lock()
	c.conns[id] = to
	c.mu.Unlock()
}

// forget removes the receiver of the events of id.
func (c *connections) forget(id mad.CommID) {
	c.mu.Lock()
	delete(c.conns, id)
	c.mu.Unlock()
}

// cancel abandons a request. The error is ignored: it means that the request has already ended.
func (c *connections) cancel(id mad.CommID) {
	_ = c.gsi.Do(func(now cm.Time, m *cm.Manager) error { return m.Cancel(now, id) })
	c.forget(id)
}

// nothingListens returns a channel that is closed when the peer's host reports that no socket can
// answer a request. The channel is nil if the device's links are not those of a host. ctx ends the
// probing.
func (d *Device) nothingListens(ctx context.Context, local, remote netip.Addr) <-chan struct{} {
	if !d.onHost {
		return nil
	}
	said := make(chan struct{})
	go func() {
		if gsi.NothingListens(ctx, d.nic, local, remote) {
			close(said)
		}
	}()
	return said
}

// abandonRequest abandons a connection request because the peer's host reports that UDP port 4791
// is closed. id returns its communication ID. abandonRequest returns an error if the peer has
// answered.
func (c *connections) abandonRequest(id func() mad.CommID) error {
	return c.gsi.Do(func(_ cm.Time, m *cm.Manager) error {
		if err := m.AbandonRequest(id()); err != nil {
			return err
		}
		c.forget(id())
		return nil
	})
}

// EphemeralPort returns a random port of the dynamic range, 49152 to 65535 (RFC 6335, section 6).
func EphemeralPort() uint16 { return uint16(49152 + rand.IntN(1<<14)) }

// ResolveAddr returns the entry of the GID table from which remote is reached, and waits until the
// host has resolved the next hop, as rdma_resolve_addr. If from is valid, the entry must have that
// address. On links that are not the host's, such as a pipe, it returns the first entry whose
// address has the family, scope and zone of remote.
func (d *Device) ResolveAddr(ctx context.Context, from, remote netip.Addr) (GIDEntry, error) {
	remote = remote.Unmap()
	gids := d.GIDs()
	if from.IsValid() {
		index, err := d.gidIndex(gidOf(from))
		if err != nil {
			return GIDEntry{}, err
		}
		gids = slices.DeleteFunc(gids, func(g GIDEntry) bool { return g.Index != index })
	}
	if !d.onHost {
		for _, g := range gids {
			here, there := g.Addr.Zone(), remote.Zone()
			sameKind := g.Addr.Is4() == remote.Is4() && g.Addr.IsLinkLocalUnicast() == remote.IsLinkLocalUnicast()
			if sameKind && (here == there || here == "" || there == "") {
				return g, nil
			}
		}
		return GIDEntry{}, fmt.Errorf("%s has no address with a route to the peer: it has %s", d.name, listGIDs(gids))
	}
	o := route.Options{Sources: []netip.Addr{}}
	for _, g := range gids {
		o.Sources = append(o.Sources, g.Addr)
	}
	r, err := route.Resolve(ctx, remote, o)
	if err != nil {
		return GIDEntry{}, err
	}
	for _, g := range gids {
		if g.Addr.WithZone("") == r.Src.WithZone("") {
			return g, nil
		}
	}
	return GIDEntry{}, fmt.Errorf("the source address %v is not an address of %s", r.Src, d.name)
}

// Drain ends all connections of the connection manager: it closes the listeners, disconnects every
// connection, and returns when the peers have answered. If ctx ends first, it returns the cause of
// ctx.
func (d *Device) Drain(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	c := &d.connections
	c.mu.Lock()
	listeners := slices.Collect(maps.Values(c.listeners))
	c.mu.Unlock()
	for _, l := range listeners {
		if err := l.Close(); err != nil {
			return err
		}
	}
	for _, conn := range c.disconnectAll() {
		select {
		case <-conn.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// disconnectAll disconnects all connections and returns them.
func (c *connections) disconnectAll() (open []*Conn) {
	c.mu.Lock()
	for _, e := range c.conns {
		if conn, ok := e.(*Conn); ok {
			open = append(open, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range open {
		conn.startDisconnect()
	}
	return open
}
