package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// lead makes out and path q's way, nil for none.
func (q *QP) lead(out *outbox, path packet.Path) {
	if q.heard && (q.out != out || q.path.Dst != path.Dst) {
		if q.out.link != nil {
			packet.Release(q.out.link, q.path.Dst)
		}
		q.heard = false
	}
	q.path, q.remote = path, path.Dst.WithZone("")
	q.announce()
	if q.out == out {
		return
	}
	if q.out != nil {
		q.out.remove(q)
	}
	// Datagrams only pass by: their address handles hold on to the entries that they name.
	if q.dgram == nil {
		if q.out != nil {
			q.out.users--
		}
		if out != nil {
			out.users++
		}
	}
	q.out = out
}

// announce tells the receivers of other shards who may send to q.
func (q *QP) announce() {
	if s := q.shard; s.several && !q.closed {
		s.dev.senders.set(q.attr.Num, sender{addr: q.remote, anybody: q.dgram != nil})
	}
}

// hear takes note of the first packet that q's peer has sent: from then on the link holds on to what
// it knows of the way there. Requests for connections may bear anybody's address.
func (q *QP) hear() {
	q.heard = true
	packet.Hold(q.out.link, q.path.Dst)
}

// way returns the link and the path that the queue pair will have with the attributes of a
// that mask names.
func (q *QP) way(a *qp.Attr, mask qp.AttrMask) (*outbox, packet.Path, error) {
	out, path, mtu := q.out, q.path, q.attr.Attr.PathMTU
	refuse := func(attr qp.AttrMask, format string, args ...any) error {
		e := &qp.ModifyError{QPN: q.attr.Num, Type: q.attr.Type, From: q.attr.State(), To: q.attr.State(), Attr: attr}
		if mask&qp.AttrState != 0 {
			e.To = a.State
		}
		e.Reason = fmt.Sprintf("cannot be used: "+format, args...)
		return e
	}
	wrong := qp.AttrPathMTU
	if mask&qp.AttrAV != 0 {
		g, p, err := q.shard.dev.route(&a.AV, false)
		if err != nil {
			return nil, path, refuse(qp.AttrAV, "%v", err)
		}
		out, path, wrong = q.shard.out[g.index], p, qp.AttrAV
	}
	if mask&qp.AttrPathMTU != 0 {
		mtu, wrong = a.PathMTU, qp.AttrPathMTU
	}
	// The link of a way that stays may have got a smaller MTU: the path MTU stays as well.
	if chosen := mask&(qp.AttrAV|qp.AttrPathMTU) != 0; chosen && out != nil && mtu > out.mtu {
		return nil, path, refuse(wrong, "path MTU %d does not fit %v, whose MTU of %d bytes allows at most %d: give both ends %d or less, or raise the MTU of the network device",
			int(mtu), out.local, out.caps.MTU, int(out.mtu), int(out.mtu))
	}
	return out, path, nil
}
