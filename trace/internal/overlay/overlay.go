// Package overlay tells virtual networks apart, which reuse addresses, and whose queue pairs reuse
// numbers: equal addresses in different networks are different hosts.
//
// Networks are identified by the VNIs of VXLAN and Geneve and the VSIDs of NVGRE, see
// [tunnel.Layer.VNI]. Other identifiers name no tenant: GRE keys and MPLS labels may differ between
// the two directions of a connection, an ERSPAN session is a mirror, and a routed packet passes
// several VLANs.
//
// Both directions of a connection usually have the same VNI. They do not if each switch routes to
// the network of the destination (asymmetric IRB of EVPN, RFC 9135, section 4; OVN with Geneve), or
// if one direction was captured inside of the tunnel. [Tracker] recognises this.
package overlay

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/trace/tunnel"
)

const (
	// maxSights is the maximum number of networks in which packets between two hosts are
	// remembered, of all hosts. Further ones are taken by their VNI.
	maxSights = 1 << 15
	// maxPathSights is the maximum of one direction between two hosts.
	maxPathSights = 64
)

// Network identifies a virtual network within a capture; 0 is none.
type Network uint64

// Of returns the network of a packet in the tunnels outer: its VNIs, of which inner networks
// may be carried in outer ones.
func Of(outer []tunnel.Layer) (n Network) {
	for i := range outer {
		if v, ok := outer[i].VNI(); ok {
			n = n*0x9e3779b97f4a7c15 + Network(v) + 1
		}
	}
	return n
}

// VNI returns the innermost VNI of a packet.
func VNI(outer []tunnel.Layer) (vni uint32, ok bool) {
	for i := len(outer) - 1; i >= 0; i-- {
		if vni, ok = outer[i].VNI(); ok {
			break
		}
	}
	return vni, ok
}

// Path is one direction between two hosts.
type Path struct{ Src, Dst netip.Addr }

// sight is a network in which packets of a path were captured. Its flows have the network flows:
// own, unless the opposite path has another VNI.
type sight struct{ own, flows Network }

// Tracker finds the networks of flows. The zero value is ready to use.
type Tracker struct {
	paths  map[Path][]sight // nil before Begin
	sights int
	latest Path // the latest result of Network
	result sight
}

// Begun reports whether Begin was called.
func (t *Tracker) Begun() bool { return t.paths != nil }

// Begin prepares t for the first packet with a VNI. earlier are the paths of packets without one.
func (t *Tracker) Begin(earlier iter.Seq[Path]) {
	t.paths = map[Path][]sight{}
	for w := range earlier {
		t.add(w, sight{})
	}
}

// add adds s to the sights of w, unless they have it.
func (t *Tracker) add(w Path, s sight) {
	list := t.paths[w]
	if t.sights < maxSights && len(list) < maxPathSights && find(list, s.own) < 0 {
		t.paths[w] = append(list, s)
		t.sights++
	}
}

// find returns the index of a network, or -1.
func find(list []sight, own Network) int {
	return slices.IndexFunc(list, func(s sight) bool { return s.own == own })
}

// Network returns the network of the flow of a packet of w with the network own. The first packets
// of w have the network of the opposite path if all packets of that have the same one. Packets that
// show that both networks have both paths correct that.
func (t *Tracker) Network(w Path, own Network) Network {
	if t.latest == w && t.result.own == own {
		return t.result.flows
	}
	list := t.paths[w]
	i := find(list, own)
	if i < 0 {
		s := sight{own, own}
		back := t.paths[Path{w.Dst, w.Src}]
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
		t.add(w, s)
		t.latest, t.result = w, s
		return s.flows
	}
	t.latest, t.result = w, list[i]
	return list[i].flows
}

// OfCopy returns the network of the flow of a copy, which does not tell where the flow was captured
// first.
func (t *Tracker) OfCopy(w Path, own Network) Network {
	list := t.paths[w]
	if i := find(list, own); i >= 0 {
		return list[i].flows
	} else if len(list) == 1 {
		return list[0].flows
	}
	return own
}
