//go:build linux

package ucma

import (
	"net/netip"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

func (r *request) listen(q *uapi.UCMListen) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	if err := i.in(idle, addrBound); err != nil {
		return nil, err
	}
	if i.state == idle {
		if err := i.bind(netip.AddrPortFrom(netip.IPv4Unspecified(), 0)); err != nil {
			return nil, err
		}
	}
	backlog := int(int32(q.Backlog))
	if backlog <= 0 || backlog > maxBacklog {
		backlog = maxBacklog
	}
	l, err := i.server.dev.ListenFunc(i.ps, i.local, backlog, i.requested)
	if err != nil {
		return nil, errnoFor(err, uapi.EADDRINUSE)
	}
	i.listener, i.state = l, listening
	return nil, nil
}

// requested handles a request of a peer: the program gets a new identifier for it. At a limit the
// request is not answered, so that the peer repeats it.
func (i *ident) requested(r *verbs.ConnRequest) {
	s := i.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if i.dead || i.ch.closed || !i.serves(r.Local().Addr()) {
		_ = r.SendREJ(mad.RejectInvalidServiceID, nil) // an error means that the peer has given up
		return
	}
	if i.queued >= maxBacklog || len(i.ch.queue) >= maxEvents || s.queued >= s.allEvents {
		_ = r.Ignore() // likewise
		return
	}
	fresh, err := i.ch.newIdent(0, i.ps)
	if err != nil {
		_ = r.Ignore()
		return
	}
	fresh.take(r)
	e := &event{owner: i, newIdent: fresh, resp: uapi.UCMEventResp{
		UID: i.uid, ID: fresh.num, Event: uint32(uapi.UCMEventConnectRequest),
	}}
	if fresh.datagrams() {
		e.resp.SetUD(datagramParam(r.PrivateData()))
	} else {
		e.resp.SetConn(requestParam(r.REQ(), r.PrivateData()))
	}
	i.ch.push(e)
}

// serves reports whether a listener covers an address of the device: a listener at 0.0.0.0 covers
// IPv4, one at [::] all addresses unless it is restricted to its family.
func (i *ident) serves(a netip.Addr) bool {
	here := i.local.Addr()
	switch {
	case !here.IsUnspecified():
		return true // the device has compared it
	case here.Is4():
		return a.Unmap().Is4()
	}
	return !i.afOnly || !a.Unmap().Is4()
}

// take assigns a request to the identifier.
func (i *ident) take(r *verbs.ConnRequest) {
	i.peerRequest, i.state = r, connecting
	i.local, i.remote = r.Local(), r.Remote()
	i.gid, i.device = i.server.entry(r.Local().Addr())
	if !i.datagrams() {
		i.param.request(r)
	}
}
