package engine

import (
	"fmt"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

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
	if out != nil && mtu > out.mtu {
		return nil, path, refuse(wrong, "path MTU %d does not fit %v, whose MTU of %d bytes allows at most %d: give both ends %d or less, or raise the MTU of the network device",
			int(mtu), out.local, out.caps.MTU, int(out.mtu), int(out.mtu))
	}
	return out, path, nil
}
