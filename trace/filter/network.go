package filter

import (
	"strings"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
	"github.com/gorxe/gorxe/trace/tunnel"
)

// tunnelNames returns the values of the field tunnel.
func tunnelNames() []string {
	var names []string
	for _, k := range tunnel.Kinds() {
		names = append(names, k.String())
	}
	return names
}

// inTunnel reports whether p has an encapsulation of the kind want, and whether it has any (some).
func inTunnel(p *trace.Packet, want string) (is, some bool) {
	for i := range p.Outer {
		if strings.EqualFold(p.Outer[i].Kind.String(), want) {
			return true, true
		}
	}
	return false, len(p.Outer) > 0
}

// vnis returns the virtual networks of p's tunnels, up to four.
func vnis(p *trace.Packet) (n numbers) {
	for i := range p.Outer {
		if v, ok := p.Outer[i].VNI(); ok && n.n < len(n.v) {
			n.v[n.n] = uint64(v)
			n.n++
		}
	}
	return n
}

// lids returns the LIDs of p.
func lids(p *trace.Packet) numbers {
	if p.LRH == nil {
		return numbers{}
	}
	return numbers{[4]uint64{uint64(p.LRH.SLID), uint64(p.LRH.DLID)}, 2}
}

// isRoCEv2 reports whether p has a UDP header.
func isRoCEv2(p *trace.Packet) bool { return p.Fabric == fabric.RoCEv2 }

// inUDP returns a getter for a field of the UDP header.
func inUDP(get func(*trace.Packet) numbers) func(*trace.Packet) numbers {
	return func(p *trace.Packet) numbers {
		if !isRoCEv2(p) {
			return numbers{}
		}
		return get(p)
	}
}
