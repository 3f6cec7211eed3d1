package verbs

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/qp"
)

// Parameters of a REQ: the code of the time in which the peer's connection manager must answer,
// 4.096 µs × 2^18 = 1.1 s, and the number of retries of either end.
const (
	cmResponse = 18
	cmRetries  = 15
)

// Dial connects q, a queue pair of type RC in RESET or INIT, to a program that listens at remote
// in the port space TCP of rdma_cm, which Linux, RNICs and gorxe implement. Receives that the
// peer may use at once must be posted before, in INIT (see [QP.Init]).
//
// The error is a [*RejectError], a [*NotListeningError], [ErrUnreachable] after about 26 s, or the
// cause of ctx; any other error names the wrong value. After an error the queue pair is in ERR if
// Dial sent a REQ, otherwise in RESET or INIT.
func (d *Device) Dial(ctx context.Context, remote netip.AddrPort, q *QP, p ConnParam) (*Conn, error) {
	c, err := d.dial(ctx, remote, q, &p)
	if err != nil {
		return nil, fmt.Errorf("dial %v: %w", remote, err)
	}
	return c, nil
}

func (d *Device) dial(ctx context.Context, remote netip.AddrPort, q *QP, p *ConnParam) (*Conn, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if err := q.checkOn(d); err != nil {
		return nil, err
	}
	if q.qp.Type() != RC {
		return nil, fmt.Errorf("the queue pair is of type %v: a connection needs %v", q.qp.Type(), RC)
	}
	if len(p.PrivateData) > DialPrivateLen {
		return nil, fmt.Errorf("private data of %d bytes: the maximum is %d", len(p.PrivateData), DialPrivateLen)
	}
	g, err := d.ResolveAddr(ctx, netip.Addr{}, remote.Addr())
	if err != nil {
		return nil, err
	}
	m, err := d.cm()
	if err != nil {
		return nil, err
	}
	if err := q.Init(p.Access); err != nil {
		return nil, err
	}
	c := &Conn{
		cm: m, qp: q, index: g.Index, attr: p.ConnAttr, psn: RandomPSN(),
		local: netip.AddrPortFrom(g.Addr, EphemeralPort()), remote: remote,
		ready: make(chan struct{}), over: make(chan struct{}),
	}
	c.attr.PathMTU = commonMTU(p.PathMTU, g.MTU)
	if c.attr.FlowLabel == 0 {
		c.attr.FlowLabel = mad.FlowLabel(c.local.Port(), remote.Port())
	}
	req, err := c.request(g.GID, p)
	if err != nil {
		return nil, err
	}
	if err := q.join(c); err != nil {
		return nil, err
	}
	c.req, c.peer = req, cm.Peer{SGIDIndex: uint8(g.Index), GID: req.Primary.RemoteGID}
	if err := c.sendREQ(); err != nil {
		q.conn.CompareAndSwap(c, nil)
		return nil, err
	}
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// sendREQ sends the REQ.
func (c *Conn) sendREQ() error {
	return c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		if c.isEnding() {
			return errOver
		}
		id, err := m.Connect(now, c.peer, c.req)
		if err != nil {
			return err
		}
		c.id = id
		c.cm.enter(id, c)
		return nil
	})
}

// retryWithSmallerMTU sends the REQ again if a REJ names a smaller path MTU, and reports whether it
// did. It runs in the manager's goroutine.
func (c *Conn) retryWithSmallerMTU(r *mad.REJ) bool {
	if c.req == nil || !lowerMTU(c.req, r) {
		return false
	}
	c.attr.PathMTU = qp.MTUFromEnum(int(c.req.PathMTU))
	return c.sendREQ() == nil
}

// lowerMTU sets the path MTU of a REQ to the one that a REJ names, if that is smaller, and reports
// whether it did.
func lowerMTU(req *mad.REQ, r *mad.REJ) bool {
	if r.Reason != mad.RejectInvalidMTU || len(r.ARI) < 1 || r.ARI[0] >= req.PathMTU {
		return false
	}
	if qp.MTUFromEnum(int(r.ARI[0])) == 0 {
		return false
	}
	req.PathMTU = r.ARI[0]
	return true
}

// request returns the REQ of a connection.
func (c *Conn) request(local GID, p *ConnParam) (*mad.REQ, error) {
	return newREQ(local, c.local, c.remote, &CommParam{
		QPN: c.qp.QPN(), PSN: c.psn, SRQ: c.qp.qp.SharesReceives(),
		ConnParam: ConnParam{ConnAttr: c.attr, PrivateData: p.PrivateData},
	})
}

// newREQ returns the REQ of a connection from gid, which is the GID of local's address.
func newREQ(gid GID, local, remote netip.AddrPort, p *CommParam) (*mad.REQ, error) {
	private, err := ipHeader(local, remote)
	if err != nil {
		return nil, err
	}
	return &mad.REQ{
		ServiceID: mad.IPServiceID(mad.PortSpaceTCP, remote.Port()), LocalQPN: p.QPN, StartingPSN: p.PSN,
		ResponderResources: p.MaxDestRdAtomic, InitiatorDepth: p.MaxRdAtomic,
		RemoteCMResponseTimeout: cmResponse, LocalCMResponseTimeout: cmResponse, MaxCMRetries: cmRetries,
		TransportService: mad.TransportRC, RetryCount: p.RetryCnt, RNRRetryCount: p.RNRRetry,
		PKey: 0xffff, PathMTU: uint8(p.PathMTU.Enum()), SRQ: p.SRQ, EndToEndFlowControl: p.FlowControl,
		Primary: mad.Path{
			LocalLID: 0xffff, RemoteLID: 0xffff, LocalGID: gid, RemoteGID: gidOf(remote.Addr()),
			FlowLabel: p.FlowLabel, TrafficClass: p.TrafficClass, HopLimit: nic.HopLimit(p.HopLimit),
			LocalACKTimeout: mad.Timeout(p.Timeout),
		},
		PrivateData: append(private, p.PrivateData...),
	}, nil
}

// ipHeader returns the header before the program's private data in a request.
func ipHeader(local, remote netip.AddrPort) ([]byte, error) {
	h := mad.IPHeader{
		SourcePort: local.Port(), Source: local.Addr().WithZone(""), Destination: remote.Addr().Unmap().WithZone(""),
	}
	return h.Append(nil)
}

// replied handles the peer's REP: it moves the queue pair to RTS and sends an RTU, or a REJ if
// that fails. It runs in the manager's goroutine.
func (c *Conn) replied(e *cm.Event) {
	r := e.REP
	c.attr.MaxRdAtomic = min(c.attr.MaxRdAtomic, r.ResponderResources)
	c.attr.MaxDestRdAtomic = min(c.attr.MaxDestRdAtomic, r.InitiatorDepth)
	c.attr.RNRRetry = r.RNRRetryCount
	c.private = r.PrivateData
	err := c.qp.connect(c.index, r.StartingPSN, ConnInfo{QPN: r.LocalQPN, PSN: c.psn, GID: e.Peer.GID}, c.attr)
	var tell func(now cm.Time, m *cm.Manager) error
	if err == nil {
		c.cm.gsi.OnFirstPacket(c.qp.qp, c.id)
		tell = func(now cm.Time, m *cm.Manager) error { return m.Established(now, c.id, nil) }
	} else {
		tell = func(_ cm.Time, m *cm.Manager) error { return m.Reject(c.id, mad.RejectConsumerDefined, nil, nil) }
	}
	if lost := c.cm.gsi.Do(tell); lost != nil && err == nil {
		// The connection has ended meanwhile, and its last event reports why.
		return
	}
	if err != nil {
		c.cm.forget(c.id)
		c.end(err)
		return
	}
	c.begin()
}
