//go:build linux

package ucma

import (
	"fmt"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
)

// port is the number of the only port of a device.
const port = 1

// A connParam holds the parameters of a connection for INIT_QP_ATTR, as exchanged by this end and
// the peer.
type connParam struct {
	known bool // the program or the peer has sent its parameters
	peer  bool // peerQPN and peerPSN are valid
	attr  verbs.ConnAttr
	av    verbs.AddressVector
	psn   verbs.PSN // first PSN that the peer sends

	peerQPN verbs.QPN
	peerPSN verbs.PSN // first PSN that this end sends

	// peerRNRRetry is the RNR retry count that this end has sent for the peer to use.
	peerRNRRetry uint8
}

// Values that rdma_cm does not negotiate.
const (
	maxRdAtomic    = qp.MaxRdAtomic
	packetLifeTime = 16 // CMA_IBOE_PACKET_LIFETIME: 4.096 µs × 2^16 in each direction
	hopLimit       = 64
)

// unlimitedRetry is the RNR retry count without a limit.
const unlimitedRetry = 7

// minRNRTimer returns the code of the delay that RNR NAKs request from the peer. The kernel
// requests 655 ms (code 0). So does minRNRTimer if the peer's retry count is limited: a program may
// need that long to post a receive. Without a limit, 640 µs reduces the delay of the peer.
func (p *connParam) minRNRTimer() uint8 {
	if p.peerRNRRetry == unlimitedRetry {
		return verbs.DefaultConnAttr().MinRNRTimer
	}
	return 0
}

// route stores the resolved route. The caller holds mu.
func (p *connParam) route(i *ident) {
	p.attr.PathMTU = i.gid.MTU
	p.attr.TrafficClass, p.attr.HopLimit = i.tos, hopLimit
	p.attr.FlowLabel = mad.FlowLabel(i.local.Port(), i.remote.Port())
	p.attr.Timeout = i.ackTimeout()
	p.av = verbs.AddressVector{
		DGID: qp.GIDFromAddr(i.remote.Addr()), SGIDIndex: uint8(i.gid.Index), TrafficClass: i.tos, HopLimit: hopLimit,
		FlowLabel: p.attr.FlowLabel,
	}
}

// request stores the parameters of a peer's request.
func (p *connParam) request(r *verbs.ConnRequest) {
	want, m := r.Peer(), r.REQ()
	p.attr = want
	// The initiator depth of one end is limited by the responder resources of the other.
	p.attr.MaxRdAtomic = min(want.MaxDestRdAtomic, maxRdAtomic)
	p.attr.MaxDestRdAtomic = min(want.MaxRdAtomic, maxRdAtomic)
	p.attr.HopLimit = hopLimit
	p.known, p.peer, p.peerQPN, p.peerPSN = true, true, m.LocalQPN, m.StartingPSN
	p.av = verbs.AddressVector{
		DGID: r.RemoteGID(), SGIDIndex: uint8(r.GIDIndex()), TrafficClass: want.TrafficClass, HopLimit: hopLimit,
		FlowLabel: want.FlowLabel,
	}
}

// reply stores the parameters of a peer's reply.
func (p *connParam) reply(c *verbs.CommID, m *mad.REP) {
	p.attr.MaxRdAtomic = min(p.attr.MaxRdAtomic, m.ResponderResources)
	p.attr.MaxDestRdAtomic = min(p.attr.MaxDestRdAtomic, m.InitiatorDepth)
	p.attr.RNRRetry, p.attr.PathMTU = m.RNRRetryCount, c.PathMTU()
	p.peer, p.peerQPN, p.peerPSN = true, m.LocalQPN, m.StartingPSN
}

func (r *request) initQPAttr(q *uapi.UCMInitQPAttr) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	if !i.device {
		return nil, fmt.Errorf("identifier %d has no device yet: %w", i.num, uapi.EINVAL)
	}
	r.response = q.Response
	to := uapi.QPState(q.QPState)
	switch p := &i.param; {
	case to == uapi.QPSInit:
		return i.initAttr(), nil
	case to == uapi.QPSRTR && p.peer:
		return p.rtrAttr(), nil
	case to == uapi.QPSRTS && p.peer:
		return i.rtsAttr(), nil
	}
	return nil, fmt.Errorf("attributes for %v while the identifier is in state %v: %w", to, i.state, uapi.EINVAL)
}

// initAttr returns the attributes for INIT. The access rights are those that the connection needs;
// before the parameters of the connection are known, there are none.
func (i *ident) initAttr() uapi.QPAttr {
	a := uapi.QPAttr{QPState: uint32(uapi.QPSInit), PortNum: port}
	mask := uapi.QPMaskState | uapi.QPMaskPKeyIndex | uapi.QPMaskPort
	switch {
	case i.datagrams():
		mask |= uapi.QPMaskQKey
		a.QKey = verbs.UDPQKey
	default:
		mask |= uapi.QPMaskAccessFlags
		if i.param.known {
			a.QPAccessFlags = uint32(uapi.AccessRemoteWrite)
			if i.param.attr.MaxDestRdAtomic > 0 {
				a.QPAccessFlags |= uint32(uapi.AccessRemoteRead | uapi.AccessRemoteAtomic)
			}
		}
	}
	a.QPAttrMask = uint32(mask)
	return a
}

func (p *connParam) rtrAttr() uapi.QPAttr {
	return uapi.QPAttr{
		QPAttrMask: uint32(uapi.QPMaskState | uapi.QPMaskAV | uapi.QPMaskPathMTU | uapi.QPMaskDestQPN |
			uapi.QPMaskRQPSN |
			uapi.QPMaskMaxDestRdAtomic | uapi.QPMaskMinRNRTimer),
		QPState: uint32(uapi.QPSRTR), AHAttr: vector(p.av), PathMTU: uint32(p.attr.PathMTU.Enum()),
		DestQPNum: uint32(p.peerQPN), RQPSN: uint32(p.psn), MaxDestRdAtomic: p.attr.MaxDestRdAtomic,
		MinRNRTimer: p.minRNRTimer(), PortNum: port,
	}
}

func (i *ident) rtsAttr() uapi.QPAttr {
	p, timeout := &i.param, i.param.attr.Timeout
	if i.timed { // it may have been set after the route was resolved
		timeout = i.timeout
	}
	return uapi.QPAttr{
		QPAttrMask: uint32(uapi.QPMaskState | uapi.QPMaskSQPSN | uapi.QPMaskRetryCnt | uapi.QPMaskRNRRetry |
			uapi.QPMaskMaxQPRdAtomic | uapi.QPMaskTimeout),
		QPState: uint32(uapi.QPSRTS), SQPSN: uint32(p.peerPSN), RetryCnt: p.attr.RetryCnt, RNRRetry: p.attr.RNRRetry,
		MaxRdAtomic: p.attr.MaxRdAtomic, Timeout: timeout, PortNum: port,
	}
}

// vector converts an address vector to the form for programs.
func vector(v verbs.AddressVector) uapi.AHAttr {
	return uapi.AHAttr{
		GRH: uapi.GlobalRoute{
			DGID: v.DGID, FlowLabel: v.FlowLabel, SGIDIndex: v.SGIDIndex, HopLimit: v.HopLimit,
			TrafficClass: v.TrafficClass,
		},
		IsGlobal: 1, PortNum: port,
	}
}
