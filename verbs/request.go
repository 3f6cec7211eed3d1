package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// ConnRequest is a peer's request for a connection, or for a datagram queue pair. It is answered
// by one of Accept, AcceptUD and Reject; an unanswered request is dropped after 90 s.
type ConnRequest struct {
	cm            *connections
	id            mad.CommID
	peer          cm.Peer
	req           *mad.REQ     // nil for a datagram queue pair
	sidr          *mad.SIDRREQ // nil for a connection
	local, remote netip.AddrPort
	private       []byte

	waits *Listener // listener whose queue holds the request, else nil; guarded by cm.mu
}

// Local and Remote return the addresses and ports of the two ends.
func (r *ConnRequest) Local() netip.AddrPort  { return r.local }
func (r *ConnRequest) Remote() netip.AddrPort { return r.remote }

// RemoteGID returns the GID that the request came from, from which the packets of the connection
// come too. It has the address of Remote: a request that claims another address is rejected
// before a program sees it.
func (r *ConnRequest) RemoteGID() GID { return r.peer.GID }

// PrivateData returns the private data of the peer's program: 56 bytes, 180 for a datagram queue
// pair.
func (r *ConnRequest) PrivateData() []byte { return r.private }

// Peer returns the attributes that the peer requests: MaxRdAtomic is the number of READs and
// atomics that it wants to have outstanding, MaxDestRdAtomic the number that it accepts. The path
// MTU, the retries and the acknowledgement timeout are those that it wants this end to use.
func (r *ConnRequest) Peer() ConnAttr {
	if r.req == nil {
		return ConnAttr{}
	}
	return ConnAttr{
		PathMTU: qp.MTUFromEnum(int(r.req.PathMTU)), MaxRdAtomic: r.req.InitiatorDepth,
		MaxDestRdAtomic: r.req.ResponderResources, RetryCnt: r.req.RetryCount, RNRRetry: r.req.RNRRetryCount,
		Timeout: uint8(r.req.Primary.LocalACKTimeout), TrafficClass: r.req.Primary.TrafficClass,
		FlowLabel: r.req.Primary.FlowLabel, HopLimit: r.req.Primary.HopLimit,
	}
}

// check decodes the addresses and ports of the two ends, which are in the private data. A reason
// other than 0 means that no program can accept the request; addrErr is then the error in the
// addresses, if that is the cause.
func (r *ConnRequest) check() (reason RejectReason, addrErr error) {
	g, err := r.cm.dev.GID(int(r.peer.SGIDIndex))
	if err != nil {
		return mad.RejectInvalidGID, nil
	}
	var private []byte
	var service mad.ServiceID
	if r.req != nil {
		private, service = r.req.PrivateData, r.req.ServiceID
	} else {
		private, service = r.sidr.PrivateData, r.sidr.ServiceID
	}
	var h mad.IPHeader
	r.private, err = h.Decode(private)
	// Between two programs of one host, loopback addresses are valid.
	here := gidOf(h.Source) == r.peer.GID && h.Destination == g.Addr.WithZone("")
	if err == nil && !here {
		err = h.Check()
	}
	if err == nil {
		err = h.CheckSender(r.peer.GID)
	}
	if err != nil {
		// Linux rejects implausible addresses with this reason, regardless of the field. Invalid
		// GID (12) would concern this end's GID and make the sender look for another path.
		return mad.RejectConsumerDefined, err
	}
	_, port, _ := service.IP()
	from := r.peer.GID.Addr()
	r.remote = netip.AddrPortFrom(from.WithZone(zoneFor(from, g.Addr)), h.SourcePort)
	r.local = netip.AddrPortFrom(g.Addr, port)
	return 0, nil
}

// zoneFor returns the zone of a link-local peer, which is that of the local address; "" for other
// peers.
func zoneFor(peer, local netip.Addr) string {
	if peer.IsLinkLocalUnicast() {
		return local.Zone()
	}
	return ""
}

// Accept connects q, a queue pair of type RC in RESET or INIT, to the peer. It returns when the
// peer is ready. The path MTU, the retries, the acknowledgement timeout and the flow label are
// those that the peer requests, whatever p has; only if the peer requests no timeout, that of p
// takes effect. An error is the cause of ctx, [ErrUnreachable], a [*RejectError], or names the
// wrong value; in the last case the request can still be accepted with another value, or rejected.
func (r *ConnRequest) Accept(ctx context.Context, q *QP, p ConnParam) (*Conn, error) {
	c, err := r.accept(ctx, q, &p)
	if err != nil {
		return nil, fmt.Errorf("accept %v: %w", r.remote, err)
	}
	return c, nil
}

func (r *ConnRequest) accept(ctx context.Context, q *QP, p *ConnParam) (*Conn, error) {
	if r.req == nil {
		return nil, errors.New("the peer asks for a datagram queue pair: use AcceptUD")
	}
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if err := q.checkOn(r.cm.dev); err != nil {
		return nil, err
	}
	switch {
	case q.qp.Type() != RC:
		return nil, fmt.Errorf("the queue pair is of type %v: a connection needs %v", q.qp.Type(), RC)
	case len(p.PrivateData) > AcceptPrivateLen:
		return nil, fmt.Errorf("private data of %d bytes: the maximum is %d", len(p.PrivateData), AcceptPrivateLen)
	}
	want := r.Peer()
	c := &Conn{
		cm: r.cm, qp: q, id: r.id, index: int(r.peer.SGIDIndex), attr: p.ConnAttr, psn: RandomPSN(),
		local: r.local, remote: r.remote, private: r.private,
		ready: make(chan struct{}), over: make(chan struct{}),
	}
	a := &c.attr
	a.PathMTU, a.RetryCnt, a.RNRRetry, a.FlowLabel = want.PathMTU, want.RetryCnt, want.RNRRetry, want.FlowLabel
	// Without a timeout, this end would never notice that the peer is gone.
	if want.Timeout != 0 {
		a.Timeout = want.Timeout
	}
	a.MaxRdAtomic = min(a.MaxRdAtomic, want.MaxDestRdAtomic)
	a.MaxDestRdAtomic = min(a.MaxDestRdAtomic, want.MaxRdAtomic)
	if err := q.join(c); err != nil {
		return nil, err
	}
	// The queue pair must be ready to receive before the peer gets the REP.
	err := q.connect(c.index, r.req.StartingPSN, ConnInfo{QPN: r.req.LocalQPN, PSN: c.psn, GID: r.peer.GID}, c.attr)
	if err != nil {
		q.conn.CompareAndSwap(c, nil)
		return nil, err
	}
	r.cm.gsi.OnFirstPacket(q.qp, r.id)
	err = r.reply(c, &CommParam{
		QPN: q.QPN(), PSN: c.psn, SRQ: q.qp.SharesReceives(), ConnParam: ConnParam{
			ConnAttr:    ConnAttr{MaxDestRdAtomic: a.MaxDestRdAtomic, MaxRdAtomic: a.MaxRdAtomic, RNRRetry: p.RNRRetry},
			PrivateData: p.PrivateData,
		},
	})
	if err != nil {
		c.end(err)
		return nil, err
	}
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// reply sends the REP and routes the events of the connection to to.
func (r *ConnRequest) reply(to cmEventSink, p *CommParam) error {
	return r.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		err := m.Accept(now, r.id, &mad.REP{
			LocalQPN: p.QPN, StartingPSN: p.PSN, ResponderResources: p.MaxDestRdAtomic, InitiatorDepth: p.MaxRdAtomic,
			TargetACKDelay: ackDelay, RNRRetryCount: p.RNRRetry, SRQ: p.SRQ, EndToEndFlowControl: p.FlowControl,
			PrivateData: p.PrivateData,
		})
		if err == nil {
			r.cm.enter(r.id, to)
		}
		return err
	})
}

// Reject rejects the request. The private data is for the peer's program, up to 148 bytes, 136
// for a datagram queue pair. It fails if the data is too long, or if the request is answered or
// has ended.
func (r *ConnRequest) Reject(private []byte) error {
	if err := r.refuse(mad.RejectConsumerDefined, private); err != nil {
		return fmt.Errorf("reject %v: %w", r.remote, err)
	}
	return nil
}

// Ignore drops the request without an answer, as if it had been lost: the peer's host repeats it
// after some seconds, as a new request. A program should ignore most requests of a flood: they
// may be forged, and a rejection would go to the forged address. It fails if the request is
// answered or has ended.
func (r *ConnRequest) Ignore() error {
	err := r.cm.gsi.Do(func(_ cm.Time, m *cm.Manager) error { return m.Ignore(r.id) })
	if err != nil {
		return fmt.Errorf("ignore %v: %w", r.remote, err)
	}
	return nil
}

// refuse rejects the request. private is data for the peer's program.
func (r *ConnRequest) refuse(reason RejectReason, private []byte) error {
	return r.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error { return r.decline(now, m, reason, private) })
}

// decline is refuse for a caller that already holds the manager's lock.
func (r *ConnRequest) decline(now cm.Time, m *cm.Manager, reason RejectReason, private []byte) error {
	if r.req == nil {
		return m.Answer(now, r.id, &mad.SIDRREP{Status: mad.SIDRReject, ServiceID: r.sidr.ServiceID,
			PrivateData: private})
	}
	return m.Reject(r.id, reason, nil, private)
}
