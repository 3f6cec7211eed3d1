//go:build linux

package ucma

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// A group is a multicast group that an identifier has joined (struct ucma_multicast). The program
// attaches its queue pair itself.
type group struct {
	num     uint32
	fetched uint32 // number of events that the program has fetched
}

func (r *request) joinIP(q *uapi.UCMJoinIPMcast) (any, error) {
	a, ok := q.Addr.AddrPort()
	return r.joinGroup(q.ID, q.Response, q.UID, a.Addr(), ok)
}

func (r *request) join(q *uapi.UCMJoinMcast) (any, error) {
	a, ok := q.Addr.AddrPort()
	return r.joinGroup(q.ID, q.Response, q.UID, a.Addr(), ok)
}

// joinGroup joins the group a. An event reports the attributes for an address handle of the group.
// known is false if a is neither IPv4 nor IPv6.
func (r *request) joinGroup(id uint32, response, uid uint64, a netip.Addr, known bool) (any, error) {
	i, err := r.ch.find(id)
	if err != nil {
		return nil, err
	}
	gid, err := verbs.MulticastGID(a)
	switch {
	case !known || err != nil:
		return nil, fmt.Errorf("%v is no multicast group: %w", a, uapi.EINVAL)
	case !i.device || !i.datagrams() || i.state == idle:
		return nil, fmt.Errorf("identifier %d is for no datagrams of a device: %w", i.num, uapi.EINVAL)
	case len(i.server.ids) >= i.server.allIDs:
		return nil, fmt.Errorf("all %d identifiers of the device are in use: %w", i.server.allIDs, uapi.ENOMEM)
	case i.ch.groups >= maxGroups:
		return nil, fmt.Errorf("all %d multicast groups of the channel are in use: %w", maxGroups, uapi.ENOMEM)
	}
	if err := i.crowded(); err != nil {
		return nil, err
	}
	num := i.server.number(i)
	g := &group{num: num}
	if i.groups == nil {
		i.groups = map[uint32]*group{}
	}
	i.groups[num] = g
	i.ch.groups++
	p := datagramParam(nil)
	p.QPNum, p.QKey = uint32(verbs.MulticastQPN), verbs.UDPQKey
	p.AHAttr = vector(verbs.AddressVector{
		DGID: gid, SGIDIndex: uint8(i.gid.Index), TrafficClass: i.tos, HopLimit: hopLimit,
	})
	e := &event{owner: i, group: g, resp: uapi.UCMEventResp{
		UID: uid, ID: num, Event: uint32(uapi.UCMEventMulticastJoin),
	}}
	e.resp.SetUD(p)
	i.ch.push(e)
	r.response, r.undo = response, func() { i.leave(g) }
	return uapi.UCMCreateIDResp{ID: num}, nil
}

func (r *request) leave(q *uapi.UCMDestroyID) (any, error) {
	i := r.ch.server.ids[q.ID]
	if i == nil || i.groups[q.ID] == nil {
		return nil, fmt.Errorf("multicast group %d does not exist: %w", q.ID, uapi.ENOENT)
	}
	if i.ch != r.ch {
		return nil, fmt.Errorf("multicast group %d is not of this channel: %w", q.ID, uapi.EINVAL)
	}
	g := i.groups[q.ID]
	i.leave(g)
	r.response = q.Response
	return uapi.UCMDestroyIDResp{EventsReported: g.fetched}, nil
}

// leave ends the membership in g. The caller holds mu.
func (i *ident) leave(g *group) {
	if i.groups[g.num] == nil {
		return
	}
	delete(i.groups, g.num)
	delete(i.server.ids, g.num)
	i.ch.groups--
	i.ch.removeEvents(func(e *event) bool { return e.group == g })
}
