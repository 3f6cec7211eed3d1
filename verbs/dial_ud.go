package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
)

// UDPeer is a datagram queue pair that another program has told of: what send work requests
// need to reach it.
type UDPeer struct {
	AH          *AH
	QPN         QPN
	QKey        uint32
	PrivateData []byte // the peer program's, 136 bytes
}

// sidrWait is how long an answer is waited for, as Linux does: 4.3 s and 15 times again.
const sidrWait = int64(4096 << 20)

// DialUD asks a program that listens at remote in the port space UDP of rdma_cm for its datagram
// queue pair, by SIDR. The address handle is of domain pd. An error is a [*RejectError] with the
// status of the answer in words, a [*NotListeningError], [ErrUnreachable], or the cause of ctx.
func (p *PD) DialUD(ctx context.Context, remote netip.AddrPort, private []byte) (*UDPeer, error) {
	u, err := p.dialUD(ctx, remote, private)
	if err != nil {
		return nil, fmt.Errorf("dial %v for datagrams: %w", remote, err)
	}
	return u, nil
}

func (p *PD) dialUD(ctx context.Context, remote netip.AddrPort, private []byte) (*UDPeer, error) {
	if err := checkContext(ctx); err != nil {
		return nil, err
	}
	if err := p.ctx.whileOpen(p.ctx.dev.checkOpen); err != nil {
		return nil, err
	}
	d := p.ctx.dev
	if len(private) > DialUDPrivateLen {
		return nil, fmt.Errorf("private data of %d bytes: there is room for %d", len(private), DialUDPrivateLen)
	}
	g, err := d.ResolveAddr(ctx, netip.Addr{}, remote.Addr())
	if err != nil {
		return nil, err
	}
	m, err := d.cm()
	if err != nil {
		return nil, err
	}
	req, err := newSIDRREQ(netip.AddrPortFrom(g.Addr, EphemeralPort()), remote, private)
	if err != nil {
		return nil, err
	}
	ah, err := p.CreateAH(AddressVector{DGID: gidOf(remote.Addr()), SGIDIndex: uint8(g.Index)})
	if err != nil {
		return nil, err
	}
	w := &udWait{answer: make(chan *mad.SIDRREP, 1)}
	var id mad.CommID
	err = m.gsi.Do(func(now cm.Time, man *cm.Manager) (err error) {
		id, err = man.Resolve(now, cm.Peer{SGIDIndex: uint8(g.Index), GID: gidOf(remote.Addr())}, req, sidrWait, cmRetries)
		if err == nil {
			m.enter(id, w)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	nobody := d.nothingListens(asking, g.Addr, remote.Addr())
	for {
		select {
		case r := <-w.answer:
			switch {
			case r == nil:
				return nil, ErrUnreachable
			case r.Status != mad.SIDRSuccess:
				return nil, sidrError(r)
			}
			return &UDPeer{AH: ah, QPN: r.QPN, QKey: r.QKey, PrivateData: r.PrivateData}, nil
		case <-nobody:
			nobody = nil
			if m.withdraw(func() mad.CommID { return id }) == nil {
				return nil, &NotListeningError{Host: remote.Addr()}
			}
		case <-ctx.Done():
			m.cancel(id)
			return nil, context.Cause(ctx)
		case <-d.nic.Done():
			return nil, ErrClosed
		}
	}
}

// newSIDRREQ is the request for the datagram queue pair of a program at remote.
func newSIDRREQ(local, remote netip.AddrPort, private []byte) (*mad.SIDRREQ, error) {
	head, err := ipHeader(local, remote)
	if err != nil {
		return nil, err
	}
	return &mad.SIDRREQ{
		PKey: 0xffff, ServiceID: mad.IPServiceID(mad.PortSpaceUDP, remote.Port()), PrivateData: append(head, private...),
	}, nil
}

// udWait waits for the answer to a SIDR_REQ; nil is none.
type udWait struct{ answer chan *mad.SIDRREP }

func (w *udWait) event(e *cm.Event) { w.answer <- e.SIDRREP }

// sidrError says what a SIDR_REP refuses in the words of a REJ.
func sidrError(r *mad.SIDRREP) error {
	e := &RejectError{Reason: mad.RejectConsumerDefined, PrivateData: r.PrivateData}
	switch r.Status {
	case mad.SIDRUnsupported:
		e.Reason = mad.RejectInvalidServiceID
	case mad.SIDRNoQP:
		e.Reason = mad.RejectNoQP
	case mad.SIDRRedirect:
		e.Reason = mad.RejectPortCMRedirect
	case mad.SIDRUnsupportedVersion:
		e.Reason = mad.RejectInvalidClassVersion
	}
	return e
}

// AcceptUD answers a request for a datagram queue pair with q and its Q_Key. The private data is
// for the peer's program, 136 bytes at most.
func (r *ConnRequest) AcceptUD(q *QP, private []byte) error {
	if err := r.acceptUD(q, private); err != nil {
		return fmt.Errorf("accept %v: %w", r.remote, err)
	}
	return nil
}

func (r *ConnRequest) acceptUD(q *QP, private []byte) error {
	if r.sidr == nil {
		return errors.New("the peer asks for a connection: use Accept")
	}
	if err := q.checkOn(r.cm.dev); err != nil {
		return err
	}
	if q.qp.Type() != UD {
		return fmt.Errorf("the queue pair is of type %v: datagrams need %v", q.qp.Type(), UD)
	}
	attr, _ := q.Query()
	return r.SendSIDRREP(q.QPN(), attr.QKey, private)
}
