package verbs

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// CMEvent is an event of a [CommID]; see [cm.Event].
type CMEvent = cm.Event

// CommParam holds what one end of a connection tells the other if the program modifies its queue
// pair itself.
type CommParam struct {
	QPN         QPN
	PSN         PSN  // first PSN that the peer sends: RQPSN of the queue pair
	SRQ         bool // the queue pair uses a shared receive queue
	FlowControl bool // end-to-end flow control
	ConnParam
}

// CommID is one end of a connection, or a request for a datagram queue pair, of a program that
// modifies its queue pair itself, as struct ib_cm_id in the Linux kernel. All other programs use
// [Device.Dial] and [ConnRequest.Accept].
//
// Events report the progress. The active end of a connection gets Replied and answers with SendRTU
// or SendREJ; the passive end gets Established. The last event of a connection is Disconnected,
// Rejected or Unreachable. A request for a datagram queue pair gets Resolved or Unreachable. The
// goroutine of the connection manager passes each event to the program's function handle, which
// must not block; the function may call the methods, which are safe for concurrent use.
type CommID struct {
	cm     *connections
	handle func(*CMEvent)
	peer   cm.Peer
	req    *mad.REQ // REQ of the active end of a connection

	id     mad.CommID // guarded by the manager's lock
	closed bool       // guarded by the manager's lock
}

// SendREQ requests a connection from the program that listens at remote. from is an entry of the
// GID table that [Device.ResolveAddr] returned, port the port of this end; handle receives the
// events (see [CommID]). A path MTU of 0 means that of the entry.
func (d *Device) SendREQ(
	from GIDEntry, port uint16, remote netip.AddrPort, p CommParam, handle func(*CMEvent),
) (*CommID, error) {
	p.PathMTU = commonMTU(p.PathMTU, from.MTU)
	if p.FlowLabel == 0 {
		p.FlowLabel = mad.FlowLabel(port, remote.Port())
	}
	req, err := newREQ(from.GID, netip.AddrPortFrom(from.Addr, port), remote, &p)
	if err != nil {
		return nil, fmt.Errorf("REQ to %v: %w", remote, err)
	}
	c, err := d.newCommID(from, remote, handle)
	if err != nil {
		return nil, err
	}
	c.req = req
	if err := c.sendREQ(); err != nil {
		return nil, fmt.Errorf("REQ to %v: %w", remote, err)
	}
	return c, nil
}

// SendSIDRREQ requests a datagram queue pair from the program that listens at remote. private is
// data for that program, up to [DialUDPrivateLen] bytes; for the other parameters see SendREQ.
func (d *Device) SendSIDRREQ(
	from GIDEntry, port uint16, remote netip.AddrPort, private []byte, handle func(*CMEvent),
) (*CommID, error) {
	req, err := newSIDRREQ(netip.AddrPortFrom(from.Addr, port), remote, private)
	if err != nil {
		return nil, fmt.Errorf("SIDR_REQ to %v: %w", remote, err)
	}
	c, err := d.newCommID(from, remote, handle)
	if err != nil {
		return nil, err
	}
	err = c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		id, err := m.Resolve(now, c.peer, req, sidrTimeout, cmRetries)
		return c.storeID(id, err)
	})
	if err != nil {
		return nil, fmt.Errorf("SIDR_REQ to %v: %w", remote, err)
	}
	return c, nil
}

func (d *Device) newCommID(from GIDEntry, remote netip.AddrPort, handle func(*CMEvent)) (*CommID, error) {
	m, err := d.cm()
	if err != nil {
		return nil, err
	}
	return &CommID{cm: m, handle: handle, peer: cm.Peer{SGIDIndex: uint8(from.Index), GID: gidOf(remote.Addr())}}, nil
}

// storeID takes the results of [cm.Manager.Connect] or [cm.Manager.Resolve]: if err is nil, it
// stores the communication ID and routes its events to c. It returns err. The caller holds the
// manager's lock.
func (c *CommID) storeID(id mad.CommID, err error) error {
	if err == nil {
		c.id = id
		c.cm.enter(id, c)
	}
	return err
}

// sendREQ sends the REQ.
func (c *CommID) sendREQ() error {
	return c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		if c.closed {
			return errOver
		}
		return c.storeID(m.Connect(now, c.peer, c.req))
	})
}

// event passes an event to the program. It handles a REJ that names a smaller path MTU itself, by
// sending the REQ again with that MTU.
func (c *CommID) event(e *CMEvent) {
	if e.Kind == cm.Rejected && c.req != nil && lowerMTU(c.req, e.REJ) && c.sendREQ() == nil {
		return
	}
	c.handle(e)
}

// PathMTU returns the path MTU of the last REQ that the active end sent. It no longer changes after
// the event Replied.
func (c *CommID) PathMTU() MTU { return qp.MTUFromEnum(int(c.req.PathMTU)) }

// SendRTU answers a REP: the queue pair is ready.
func (c *CommID) SendRTU() error {
	return c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error { return m.Established(now, c.id, nil) })
}

// SendREJ rejects a REP. It ends the CommID; no event follows.
func (c *CommID) SendREJ(reason RejectReason, private []byte) error {
	return c.cm.gsi.Do(func(_ cm.Time, m *cm.Manager) error {
		if err := m.Reject(c.id, reason, nil, private); err != nil {
			return err
		}
		c.cm.forget(c.id)
		return nil
	})
}

// SendDREQ disconnects an established connection, or one whose REP is not answered yet. The event
// Disconnected follows.
func (c *CommID) SendDREQ() error {
	return c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error { return m.Disconnect(now, c.id, nil) })
}

// CommEst reports that a packet of the peer has arrived for the connection's queue pair, as
// ib_cm_notify.
func (c *CommID) CommEst() error {
	return c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		m.CommEst(now, c.id)
		return nil
	})
}

// Watch makes q report its first packet to the connection manager; the program need not call
// CommEst.
func (c *CommID) Watch(q *QP) error {
	return c.cm.gsi.Do(func(cm.Time, *cm.Manager) error {
		c.cm.gsi.OnFirstPacket(q.qp, c.id)
		return nil
	})
}

// Close ends the CommID in any state, as ib_destroy_cm_id, and notifies the peer if it knows the
// connection. An event may still be running in another goroutine; no event starts afterwards.
// Closing it again has no effect.
func (c *CommID) Close() {
	// The error is ignored: it means that the device is closed, or that the connection has ended.
	_ = c.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		c.closed = true
		c.cm.forget(c.id)
		if m.Cancel(now, c.id) == nil {
			return nil
		}
		return m.Disconnect(now, c.id, nil)
	})
}

// SendREP accepts the request with a queue pair of the program, which the program has moved to RTR.
// The event
// Established follows, or Disconnected, Rejected or Unreachable.
func (r *ConnRequest) SendREP(p CommParam, handle func(*CMEvent)) (*CommID, error) {
	if r.req == nil {
		return nil, fmt.Errorf("REP to %v: the peer asks for a datagram queue pair: use SendSIDRREP", r.remote)
	}
	c := &CommID{cm: r.cm, handle: handle, peer: r.peer, id: r.id}
	if err := r.reply(c, &p); err != nil {
		return nil, fmt.Errorf("REP to %v: %w", r.remote, err)
	}
	return c, nil
}

// SendSIDRREP answers a request for a datagram queue pair; see AcceptUD.
func (r *ConnRequest) SendSIDRREP(qpn QPN, qkey uint32, private []byte) error {
	if r.sidr == nil {
		return fmt.Errorf("SIDR_REP to %v: the peer asks for a connection: use SendREP", r.remote)
	}
	return r.cm.gsi.Do(func(now cm.Time, m *cm.Manager) error {
		return m.Answer(now, r.id, &mad.SIDRREP{QPN: qpn, QKey: qkey, ServiceID: r.sidr.ServiceID,
			PrivateData: private})
	})
}

// SendREJ rejects the request with a reason; see Reject.
func (r *ConnRequest) SendREJ(reason RejectReason, private []byte) error {
	if err := r.refuse(reason, private); err != nil {
		return fmt.Errorf("REJ to %v: %w", r.remote, err)
	}
	return nil
}

// GIDIndex returns the index of the GID table entry at which the request arrived.
func (r *ConnRequest) GIDIndex() int { return int(r.peer.SGIDIndex) }

// REQ returns the peer's REQ, or nil for a request for a datagram queue pair. It must not be
// modified.
func (r *ConnRequest) REQ() *mad.REQ { return r.req }
