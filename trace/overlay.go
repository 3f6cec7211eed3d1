package trace

import (
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/trace/tunnel"
)

// Virtual networks reuse addresses, and queue pairs their numbers: equal addresses in different
// networks are different hosts. The Analyzer tells networks apart by the VNIs of VXLAN and Geneve
// and the VSIDs of NVGRE, see [tunnel.Layer.VNI]. Other identifiers name no tenant: GRE keys and
// MPLS labels may differ between the two directions of a connection, an ERSPAN session is a mirror,
// and a routed packet passes several VLANs.
//
// Both directions of a connection usually have the same VNI. They do not if each switch routes to
// the network of the destination (asymmetric IRB of EVPN, RFC 9135, section 4; OVN with Geneve), or
// if one direction was captured inside of the tunnel. overlays recognises this.

const (
	// maxSights is the maximum number of networks in which packets between two hosts are
	// remembered, of all hosts. Further ones are taken by their VNI.
	maxSights = 1 << 15
	// maxPathSights is the maximum of one direction between two hosts.
	maxPathSights = 64
)

// network identifies a virtual network within a capture; 0 is none.
type network uint64

// networkOf returns the network of a packet in the tunnels outer: its VNIs, of which inner networks
// may be carried in outer ones.
func networkOf(outer []tunnel.Layer) (n network) {
	for i := range outer {
		if v, ok := outer[i].VNI(); ok {
			n = n*0x9e3779b97f4a7c15 + network(v) + 1
		}
	}
	return n
}

// innerVNI returns the innermost VNI of a packet.
func innerVNI(outer []tunnel.Layer) (vni uint32, ok bool) {
	for i := len(outer) - 1; i >= 0; i-- {
		if vni, ok = outer[i].VNI(); ok {
			break
		}
	}
	return vni, ok
}

// path is one direction between two hosts.
type path struct{ src, dst netip.Addr }

// sight is a network in which packets of a path were captured. Its flows have the network flows:
// own, unless the opposite path has another VNI.
type sight struct{ own, flows network }

// overlays finds the networks of flows. The zero value is ready to use.
type overlays struct {
	paths  map[path][]sight // nil before the first packet with a VNI
	sights int
	// The latest result of of.
	latest path
	result sight
}

// overlay returns the network of the flow of p. The first packet with a VNI takes note of the flows
// without one.
func (a *Analyzer) overlay(p *Packet) network {
	own := networkOf(p.Outer)
	if a.overlays.paths == nil {
		if own == 0 {
			return 0
		}
		a.overlays.paths = map[path][]sight{}
		for k := range a.table.directions {
			a.overlays.add(path{k.src, k.dst}, sight{})
		}
	}
	w := path{p.Src.Addr(), p.Dst.Addr()}
	if p.Copy != 0 {
		return a.overlays.peek(w, own)
	}
	return a.overlays.of(w, own)
}

// add adds s to the sights of w, unless they have it.
func (o *overlays) add(w path, s sight) {
	list := o.paths[w]
	if o.sights < maxSights && len(list) < maxPathSights && find(list, s.own) < 0 {
		o.paths[w] = append(list, s)
		o.sights++
	}
}

// find returns the index of a network, or -1.
func find(list []sight, own network) int {
	return slices.IndexFunc(list, func(s sight) bool { return s.own == own })
}

// of returns the network of the flow of a packet of w with the network own. The first packets of w
// have the network of the opposite path if all packets of that have the same one. Packets that show
// that both networks have both paths correct that.
func (o *overlays) of(w path, own network) network {
	if o.latest == w && o.result.own == own {
		return o.result.flows
	}
	list := o.paths[w]
	i := find(list, own)
	if i < 0 {
		s := sight{own, own}
		back := o.paths[path{w.dst, w.src}]
		switch k := find(back, own); {
		case k >= 0:
			back[k].flows = own
			for n := range list {
				if list[n].flows == own {
					list[n].flows = list[n].own
				}
			}
		case len(back) == 1 && len(list) == 0:
			s.flows = back[0].flows
		}
		o.add(w, s)
		o.latest, o.result = w, s
		return s.flows
	}
	o.latest, o.result = w, list[i]
	return list[i].flows
}

// peek returns the network of the flow of a copy, which does not tell where the flow was captured
// first.
func (o *overlays) peek(w path, own network) network {
	list := o.paths[w]
	if i := find(list, own); i >= 0 {
		return list[i].flows
	} else if len(list) == 1 {
		return list[0].flows
	}
	return own
}
