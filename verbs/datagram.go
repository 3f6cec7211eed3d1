package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/nic"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// GRHLen is the number of bytes before the payload in a receive of a queue pair of type UD: an
// IPv6 header, or 20 zero bytes and an IPv4 header, as in Linux rxe. The ByteLen of the
// completion includes them.
const GRHLen = transport.GRHLen

// CreateAH creates an address handle, which names a receiver of datagrams. Any number of send
// requests in the domain may use it at once, in SendWR.AH. The vector's SGIDIndex is the entry of
// the GID table to send from, its DGID the GID of the receiver or of a multicast group. A
// HopLimit of 0 or 1 means 64. An address handle need not be destroyed. The error is [ErrClosed]
// once the context or the device is closed.
func (p *PD) CreateAH(av AddressVector) (*AH, error) {
	var ah *AH
	err := p.ctx.whileOpen(func() error {
		err := p.ctx.dev.checkOpen()
		if err != nil {
			return err
		}
		ah, err = p.ctx.dev.nic.CreateAH(p.pd, av)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("address handle: %w", err)
	}
	return ah, nil
}

// CreateAHFromWC creates an address handle for the sender of a received datagram, as
// ibv_create_ah_from_wc. wc is the completion of the receive and buf its buffer, of which the
// first [GRHLen] bytes are read. The reply goes to queue pair wc.SrcQP, from the address that the
// datagram was sent to. The reply to a multicast datagram is sent from the first address of its
// family.
func (p *PD) CreateAHFromWC(wc *WC, buf []byte) (*AH, error) {
	if wc == nil {
		return nil, errors.New("address handle: the completion is nil: give that of the datagram's receive")
	}
	if wc.Status != WCSuccess || wc.Flags&qp.GRH == 0 {
		return nil, errors.New("address handle: the completion must be successful and have the flag GRH")
	}
	if len(buf) < GRHLen {
		return nil, fmt.Errorf("address handle: %d bytes of the receive are given, its network header is the first %d",
			len(buf), GRHLen)
	}
	av, err := p.ctx.dev.nic.ReplyVector((*transport.GRH)(buf))
	if err != nil {
		return nil, fmt.Errorf("address handle: %w", err)
	}
	return p.CreateAH(av)
}

// StartDatagrams moves a queue pair of type UD from RESET through INIT and RTR to RTS, where it
// sends and receives datagrams. It receives datagrams with the Q_Key qkey from any sender. psn is
// the first PSN that it sends; receivers ignore the PSN.
func (q *QP) StartDatagrams(qkey uint32, psn PSN) error {
	for from, to := range []QPState{INIT, RTR, RTS} {
		// The states up to RTS and their numbers are consecutive.
		needs, _, ok := qp.Requirements(q.qp.Type(), QPState(from), to)
		if !ok || q.qp.Type().Connected() {
			return fmt.Errorf("queue pair %#06x is of type %v: datagrams need %v", uint32(q.QPN()), q.qp.Type(), UD)
		}
		step := QPAttr{State: to, Port: 1, QKey: qkey, SQPSN: psn & maxPSN}
		if err := q.Modify(&step, needs|AttrState); err != nil {
			return err
		}
	}
	return nil
}

// MulticastQPN is the SendWR.RemoteQPN of a datagram to a multicast group.
const MulticastQPN = bth.MulticastQPN

const maxGroups = nic.MaxGroups

// maxAttached is the maximum number of queue pairs attached to one group.
const maxAttached = nic.MaxAttached

// MulticastGID returns the GID of the multicast group with an IP address: for IPv6 the address
// itself, for IPv4 a.b.c.d the GID ::ffff:a.b.c.d, as rdma_cm on RoCEv2. (As in Linux, the GID of
// RoCEv1, ff0e::ffff:a.b.c.d, names an IPv6 group.)
func MulticastGID(group netip.Addr) (GID, error) {
	if !group.Unmap().IsMulticast() {
		return GID{}, fmt.Errorf(
			"%v is not the address of a multicast group: those are 224.0.0.0/4 and ff00::/8", group)
	}
	return qp.GIDFromAddr(group), nil
}

// AttachMulticast attaches a queue pair of type UD to a multicast group, as ibv_attach_mcast. It
// also joins the group on the host's network, so that switches forward datagrams of other hosts.
// Joining needs no privilege. A sender need not be attached: a send request uses an AH with the
// group's GID, and [MulticastQPN].
//
// Each attached queue pair receives one copy of a datagram with its Q_Key; so do those of other
// devices on the same host. A queue pair does not receive its own datagrams, but other queue pairs
// of its device do. The device joins the group at its first address of the group's family and, when
// that address is removed, at another one; device and caller must be in the same network namespace.
// A device joins up to 8192 groups, and up to 56 queue pairs can be attached to each, as on rxe.
func (q *QP) AttachMulticast(group GID) error { return q.qp.AttachMulticast(group) }

// DetachMulticast detaches the queue pair from a group, as ibv_detach_mcast. Closing the queue
// pair detaches it too.
func (q *QP) DetachMulticast(group GID) error { return q.qp.DetachMulticast(group) }

// UDPeer is a datagram queue pair of another program: what send work requests need to reach it.
type UDPeer struct {
	AH          *AH
	QPN         QPN
	QKey        uint32
	PrivateData []byte // of the peer's program, 136 bytes
}

// sidrTimeout is the response timeout of a SIDR_REQ in nanoseconds, as in Linux: 4.3 s. The request
// is retried 15 times.
const sidrTimeout = int64(4096 << 20)

// DialUD requests the datagram queue pair of a program that listens at remote in the port space UDP
// of rdma_cm, by SIDR. private is data for that program, up to [DialUDPrivateLen] bytes. The
// address handle of the result belongs to the domain. An error is a [*RejectError] for a negative
// status of the answer, a [*NotListeningError], [ErrUnreachable], or the cause of ctx.
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
	if ctx.Err() != nil { // else a quick answer might come first
		return nil, context.Cause(ctx)
	}
	if err := p.ctx.whileOpen(p.ctx.dev.checkOpen); err != nil {
		return nil, err
	}
	d := p.ctx.dev
	if len(private) > DialUDPrivateLen {
		return nil, fmt.Errorf("private data of %d bytes: the maximum is %d", len(private), DialUDPrivateLen)
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
	w := &sidrRequest{answer: make(chan *mad.SIDRREP, 1)}
	var id mad.CommID
	err = m.gsi.Do(func(now cm.Time, man *cm.Manager) (err error) {
		id, err = man.Resolve(now, cm.Peer{SGIDIndex: uint8(g.Index), GID: gidOf(remote.Addr())}, req,
			sidrTimeout, cmRetries)
		if err == nil {
			m.enter(id, w)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	probeCtx, stop := context.WithCancel(ctx)
	defer stop()
	hostRefused := d.nothingListens(probeCtx, g.Addr, remote.Addr())
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
		case <-hostRefused:
			hostRefused = nil
			if m.abandonRequest(func() mad.CommID { return id }) == nil {
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

// newSIDRREQ returns the request for the datagram queue pair of a program at remote.
func newSIDRREQ(local, remote netip.AddrPort, private []byte) (*mad.SIDRREQ, error) {
	head, err := ipHeader(local, remote)
	if err != nil {
		return nil, err
	}
	return &mad.SIDRREQ{
		PKey: 0xffff, ServiceID: mad.IPServiceID(mad.PortSpaceUDP, remote.Port()),
		PrivateData: append(head, private...),
	}, nil
}

// sidrRequest waits for the answer to a SIDR_REQ. answer receives nil if the peer did not answer.
type sidrRequest struct{ answer chan *mad.SIDRREP }

func (w *sidrRequest) event(e *cm.Event) { w.answer <- e.SIDRREP }

// sidrError returns the RejectError of a negative SIDR_REP. Its reason is the REJ reason that
// corresponds to the status.
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
// for the peer's program, up to 136 bytes.
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
