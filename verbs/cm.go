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

// PortSpace is the kind of service that a port of the connection manager belongs to.
type PortSpace = mad.PortSpace

// RejectReason says why a connection was refused (IBA table 109).
type RejectReason = mad.RejectReason

const (
	PortSpaceTCP = mad.PortSpaceTCP // connected queue pairs, RC: RDMA_PS_TCP
	PortSpaceUDP = mad.PortSpaceUDP // datagram queue pairs, UD: RDMA_PS_UDP

	// UDPQKey is the Q_Key that programs of rdma_cm give to datagram queue pairs.
	UDPQKey = 0x01234567
)

// Room for a program's private data in bytes. Data that is shorter arrives with zeros behind it:
// a program that needs its length sends it along.
const (
	DialPrivateLen   = mad.REQPrivateLen - mad.IPHeaderLen     // of Dial: 56
	AcceptPrivateLen = mad.REPPrivateLen                       // of Accept: 196
	RejectPrivateLen = mad.REJPrivateLen                       // of Reject: 148
	DialUDPrivateLen = mad.SIDRREQPrivateLen - mad.IPHeaderLen // of DialUD: 180
	UDPrivateLen     = mad.SIDRREPPrivateLen                   // of AcceptUD and RejectUD: 136
)

// Errors of connecting, for errors.Is.
var (
	// ErrUnreachable says that the peer did not answer.
	ErrUnreachable = errors.New("unreachable: the peer does not answer")
	// ErrDisconnected says that the peer has ended the connection.
	ErrDisconnected = errors.New("the peer has disconnected")
)

// NotListeningError says that the host of a peer answers, but has nothing at UDP port 4791: gorxe, or
// whatever should be its NIC, does not run there. It is [ErrUnreachable] and ECONNREFUSED, too.
type NotListeningError struct {
	Host netip.Addr
}

func (e *NotListeningError) Error() string {
	return fmt.Sprintf("nothing listens on UDP %d at %v", packet.Port, e.Host)
}

// Is says which other errors e is.
func (e *NotListeningError) Is(target error) bool {
	return target == ErrUnreachable || target == syscall.ECONNREFUSED
}

// RejectError says that the peer refused a connection, or gave it up.
type RejectError struct {
	Reason      RejectReason
	PrivateData []byte // the peer program's, with [RejectConsumerDefined]; 148 bytes, or 136 of a datagram service
}

// Error names the reason.
func (e *RejectError) Error() string {
	switch e.Reason {
	case mad.RejectInvalidServiceID:
		return "refused: nobody listens on that port (invalid service ID)"
	case mad.RejectConsumerDefined:
		return "refused by the program at the other end (consumer reject)"
	}
	return fmt.Sprintf("refused: %v (reason %d)", e.Reason, uint16(e.Reason))
}

// ConnParam is what the two ends of a connection choose, as rdma_conn_param. Start from
// [DefaultConnParam]. MaxRdAtomic is the initiator depth and MaxDestRdAtomic the responder
// resources; each end uses what both can do.
type ConnParam struct {
	ConnAttr
	PrivateData []byte // see DialPrivateLen, AcceptPrivateLen
}

// DefaultConnParam is [DefaultConnAttr] without private data, and with the acknowledgement timeout
// of rdma_cm of Linux: 17 (0.5 s). The end that dials tells its own to the peer, which uses it, too;
// Linux rxe with many connections takes longer than perftest's 67 ms, and would repeat everything.
func DefaultConnParam() ConnParam {
	p := ConnParam{ConnAttr: DefaultConnAttr()}
	p.Timeout = 17
	return p
}

// connections is what a device knows of its connection manager: which program object each
// event is for.
//
// mu guards the maps and the fields of connections and listeners that say so. It is taken
// after the manager's own lock, and no lock of the device is taken with it held.
type connections struct {
	dev  *Device
	open sync.Once
	err  error // of opening
	gsi  *gsi.Agent
	runs atomic.Bool // gsi can be used

	mu        sync.Mutex
	conns     map[mad.CommID]ender
	listeners map[cm.ListenerID]*Listener
}

// An ender waits for the events of one communication ID.
type ender interface {
	event(e *cm.Event)
}

// cm returns the device's connection manager, which starts with its first use.
func (d *Device) cm() (*connections, error) {
	c := &d.connections
	c.open.Do(func() {
		c.dev, c.conns, c.listeners = d, map[mad.CommID]ender{}, map[cm.ListenerID]*Listener{}
		var secret [32]byte
		// It fails on no system: see crypto/rand.
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

// running is the manager if it has started, else nil.
func (c *connections) running() *gsi.Agent {
	if !c.runs.Load() {
		return nil
	}
	return c.gsi
}

// event hands an event to whom it is for. It runs in the manager's goroutine.
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

// enter makes to the one who gets the events of id. The manager's lock is held, so that none
// comes before.
func (c *connections) enter(id mad.CommID, to ender) {
	c.mu.Lock()
	c.conns[id] = to
	c.mu.Unlock()
}

func (c *connections) forget(id mad.CommID) {
	c.mu.Lock()
	delete(c.conns, id)
	c.mu.Unlock()
}

// cancel gives up a request. An error says that it has ended by itself.
func (c *connections) cancel(id mad.CommID) {
	_ = c.gsi.Do(func(now cm.Time, m *cm.Manager) error { return m.Cancel(now, id) })
	c.forget(id)
}

// nothingListens is closed when the peer's host says that nothing there can answer a request. It
// is nil where no host is asked.
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

// withdraw gives up a request that nothing can answer; an error says that something has.
func (c *connections) withdraw(id func() mad.CommID) error {
	return c.gsi.Do(func(_ cm.Time, m *cm.Manager) error {
		if err := m.Withdraw(id()); err != nil {
			return err
		}
		c.forget(id())
		return nil
	})
}

// EphemeralPort returns a port for an end that needs any (RFC 6335: 49152 to 65535).
func EphemeralPort() uint16 { return uint16(49152 + rand.IntN(1<<14)) }

// ResolveAddr finds the entry of the GID table from which a peer is reached, and sees to it that the
// host knows the way there, as rdma_resolve_addr. It has the address from if that is valid. Where packets
// go by themselves, as in memory, any entry does that is of the same family, scope and zone.
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
		return GIDEntry{}, fmt.Errorf("%s has no address that leads there: it has %s", d.name, listGIDs(gids))
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
	return GIDEntry{}, fmt.Errorf("packets leave from %v, which is not an address of %s", r.Src, d.name)
}

// Drain ends what the connection manager has in order: listeners close, every connection is
// disconnected, and it returns when the peers have answered, or with the cause of ctx.
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
	for _, conn := range c.hangUp() {
		select {
		case <-conn.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// hangUp tells the peers of all connections that they are over, and returns the connections.
func (c *connections) hangUp() (open []*Conn) {
	c.mu.Lock()
	for _, e := range c.conns {
		if conn, ok := e.(*Conn); ok {
			open = append(open, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range open {
		conn.leave()
	}
	return open
}
