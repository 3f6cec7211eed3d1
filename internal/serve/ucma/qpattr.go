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

// A connParam has what INIT_QP_ATTR tells of a connection: what this end and the peer have told each other.
type connParam struct {
	known bool // the program has said something, or the peer
	peer  bool // peerQPN and peerPSN hold
	attr  verbs.ConnAttr
	av    verbs.AddressVector
	psn   verbs.PSN // the first that the peer sends

	peerQPN verbs.QPN
	peerPSN verbs.PSN // the first that this end sends

	// peerRNRRetry is how often the peer repeats a request that finds no receive here, as this end
	// has told it.
	peerRNRRetry uint8
}

// Values that rdma_cm does not negotiate.
const (
	maxRdAtomic    = qp.MaxRdAtomic
	packetLifeTime = 16 // CMA_IBOE_PACKET_LIFETIME: 4.096 µs × 2^16 each way
	hopLimit       = 64
)

// unlimitedRetry is the RNR retry count without a limit.
const unlimitedRetry = 7

// minRNRTimer returns the code of the wait that is asked of the peer where it finds no receive. The
// kernel's is 655 ms, which a program may need to post a receive if the peer repeats its request a
// few times only. Otherwise 640 µs keep the peer waiting for less.
func (p *connParam) minRNRTimer() uint8 {
	if p.peerRNRRetry == unlimitedRetry {
		return verbs.DefaultConnAttr().MinRNRTimer
	}
	return 0
}

// route takes the way that was found. mu is held.
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

// request takes what a peer asks for.
func (p *connParam) request(r *verbs.ConnRequest) {
	want, m := r.Peer(), r.REQ()
	p.attr = want
	// What one end has outstanding the other takes.
	p.attr.MaxRdAtomic = min(want.MaxDestRdAtomic, maxRdAtomic)
	p.attr.MaxDestRdAtomic = min(want.MaxRdAtomic, maxRdAtomic)
	p.attr.HopLimit = hopLimit
	p.known, p.peer, p.peerQPN, p.peerPSN = true, true, m.LocalQPN, m.StartingPSN
	p.av = verbs.AddressVector{
		DGID: r.RemoteGID(), SGIDIndex: uint8(r.GIDIndex()), TrafficClass: want.TrafficClass, HopLimit: hopLimit,
		FlowLabel: want.FlowLabel,
	}
}

// reply takes what a peer has accepted.
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

// initAttr returns the attributes for INIT: rights from what is known of the connection, no rights before.
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
		QPAttrMask: uint32(uapi.QPMaskState | uapi.QPMaskAV | uapi.QPMaskPathMTU | uapi.QPMaskDestQPN | uapi.QPMaskRQPSN |
			uapi.QPMaskMaxDestRdAtomic | uapi.QPMaskMinRNRTimer),
		QPState: uint32(uapi.QPSRTR), AHAttr: vector(p.av), PathMTU: uint32(p.attr.PathMTU.Enum()),
		DestQPNum: uint32(p.peerQPN), RQPSN: uint32(p.psn), MaxDestRdAtomic: p.attr.MaxDestRdAtomic,
		MinRNRTimer: p.minRNRTimer(), PortNum: port,
	}
}

func (i *ident) rtsAttr() uapi.QPAttr {
	p, timeout := &i.param, i.param.attr.Timeout
	if i.timed { // maybe since the route was found
		timeout = i.timeout
	}
	return uapi.QPAttr{
		QPAttrMask: uint32(uapi.QPMaskState | uapi.QPMaskSQPSN | uapi.QPMaskRetryCnt | uapi.QPMaskRNRRetry |
			uapi.QPMaskMaxQPRdAtomic | uapi.QPMaskTimeout),
		QPState: uint32(uapi.QPSRTS), SQPSN: uint32(p.peerPSN), RetryCnt: p.attr.RetryCnt, RNRRetry: p.attr.RNRRetry,
		MaxRdAtomic: p.attr.MaxRdAtomic, Timeout: timeout, PortNum: port,
	}
}

// vector returns the form of an address vector for programs.
func vector(v verbs.AddressVector) uapi.AHAttr {
	return uapi.AHAttr{
		GRH: uapi.GlobalRoute{
			DGID: v.DGID, FlowLabel: v.FlowLabel, SGIDIndex: v.SGIDIndex, HopLimit: v.HopLimit, TrafficClass: v.TrafficClass,
		},
		IsGlobal: 1, PortNum: port,
	}
}
