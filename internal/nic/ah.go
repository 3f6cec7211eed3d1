package nic

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// maxFlowLabel is the largest flow label, 20 bits.
const maxFlowLabel = 1<<20 - 1

// CreateAH resolves an address vector for the datagrams of queue pairs of pd. The vector
// may lead to a multicast group.
func (d *Device) CreateAH(pd *mr.PD, av qp.AddressVector) (*transport.AH, error) {
	if av.FlowLabel > maxFlowLabel {
		return nil, fmt.Errorf("flow label %#x does not fit 20 bits", av.FlowLabel)
	}
	s := d.home()
	s.mu.Lock()
	defer s.mu.Unlock()
	g, path, err := d.route(&av, true)
	if err != nil {
		return nil, err
	}
	return transport.NewAH(pd, av, g.index, path, g.mtu, g.hold()), nil
}

// ReplyVector is the way back to where the datagram with this header came from, by the
// address it was sent to. One that was sent to a multicast group is answered from the first
// address of its family and scope.
func (d *Device) ReplyVector(grh *transport.GRH) (qp.AddressVector, error) {
	src, dst, class, err := grh.Origin()
	if err != nil {
		return qp.AddressVector{}, err
	}
	s := d.home()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range d.gids {
		if g.link == nil {
			continue
		}
		fits := dst.IsMulticast() && g.local.Is4() == src.Is4() && g.local.IsLinkLocalUnicast() == src.IsLinkLocalUnicast()
		if g.local == dst || fits {
			return qp.AddressVector{
				DGID: qp.GIDFromAddr(src), SGIDIndex: uint8(g.index), TrafficClass: class &^ ecnBits,
			}, nil
		}
	}
	return qp.AddressVector{}, fmt.Errorf("the datagram was sent to %v, not to an address of this device: it has %s", dst, d.gidList())
}

const (
	// ecnBits of a traffic class say what happened to one packet on its way (RFC 3168), not
	// how its answer is to be treated.
	ecnBits = 3
	// ecnCE is their value where a switch on the way was congested.
	ecnCE = 3
)
