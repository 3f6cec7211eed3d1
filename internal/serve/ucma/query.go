//go:build linux

package ucma

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/qp"
)

// noIndex is the device index that makes librdmacm identify the device by its GUID.
const noIndex = 1<<32 - 1

// fullPKey is the default partition with full membership, the only one.
var fullPKey = [2]byte{0xff, 0xff}

// nodeGUID returns the GUID of the device, zero for an identifier without one.
func (i *ident) nodeGUID() (g [8]byte) {
	if i.device {
		binary.BigEndian.PutUint64(g[:], i.server.dev.NodeGUID())
	}
	return g
}

// routed reports whether there is a path to the peer.
func (i *ident) routed() bool {
	switch i.state {
	case routeResolved:
		return true
	case connecting, disconnected:
		return !i.datagrams() || i.conn != nil // a SIDR_REQ contains no path
	}
	return false
}

func (r *request) queryRoute(q *uapi.UCMQuery) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	r.response = q.Response
	resp := uapi.UCMQueryRouteResp{
		NodeGUID: i.nodeGUID(), IBDevIndex: noIndex,
		SrcAddr: uapi.NewSockaddr(sockaddr(i.local)), DstAddr: uapi.NewSockaddr(sockaddr(i.remote)),
	}
	if i.device {
		resp.PortNum = port
		resp.IBRoute[0] = uapi.UserPathRec{SGID: i.gid.GID, DGID: qp.GIDFromAddr(i.remote.Addr()), PKey: fullPKey}
		if i.routed() {
			resp.NumPaths = 1
			resp.IBRoute[0] = i.path()
		}
	}
	return resp, nil
}

// Values of a path record: selector "exactly", and a rate of 40 Gb/s, that of the port.
const (
	exactly = 2
	rate40  = 7
)

// path returns the path record that rdma_cm creates for RoCE.
func (i *ident) path() uapi.UserPathRec {
	p := uapi.UserPathRec{
		SGID: i.gid.GID, DGID: qp.GIDFromAddr(i.remote.Addr()), Reversible: 1, PKey: fullPKey,
		HopLimit: hopLimit, TrafficClass: i.param.attr.TrafficClass, NumbPath: 1, MTUSelector: exactly,
		MTU: uint32(i.param.attr.PathMTU.Enum()), RateSelector: exactly, Rate: rate40,
		PacketLifeTimeSelector: exactly, PacketLifeTime: packetLifeTime,
	}
	binary.BigEndian.PutUint32(p.FlowLabel[:], i.param.attr.FlowLabel)
	return p
}

func (r *request) query(q *uapi.UCMQuery) (any, error) {
	i, err := r.ch.find(q.ID)
	if err != nil {
		return nil, err
	}
	r.response = q.Response
	if uapi.QueryOption(q.Option) != uapi.QueryAddr {
		// librdmacm uses the other options only if AF_IB is supported.
		return nil, fmt.Errorf("query of %v: %w", uapi.QueryOption(q.Option), uapi.EINVAL)
	}
	resp := uapi.UCMQueryAddrResp{
		NodeGUID: i.nodeGUID(), IBDevIndex: noIndex,
		SrcAddr: uapi.NewSockaddrStorage(sockaddr(i.local)), SrcSize: sockaddrSize(i.local.Addr()),
		DstAddr: uapi.NewSockaddrStorage(sockaddr(i.remote)), DstSize: sockaddrSize(i.remote.Addr()),
	}
	if i.device {
		resp.PortNum = port
	}
	return resp, nil
}

// sockaddrSize returns the size of a sockaddr_in or sockaddr_in6, 0 without an address.
func sockaddrSize(a netip.Addr) uint16 {
	switch {
	case !a.IsValid():
		return 0
	case a.Is4():
		return 16
	}
	return 28
}
