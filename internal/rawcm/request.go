package rawcm

import (
	"encoding/binary"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// REQ returns the peer's i-th request for a connection, which a program at the port can accept.
// No two have the same ID, GUID or queue pair. A REQ is not retransmitted, and the manager waits
// only briefly for an RTU: its minimum is half a second.
func (p *Peer) REQ(i uint32, port uint16) *mad.Message {
	to := p.path.Dst
	return &mad.Message{Attribute: mad.AttrREQ, TransactionID: uint64(i), REQ: mad.REQ{
		LocalCommID: mad.CommID(i), ServiceID: mad.IPServiceID(mad.PortSpaceTCP, port), LocalCAGUID: mad.GUID(i) << 8,
		LocalQPN: bth.QPN(i&0x7fffff + 16), TransportService: mad.TransportRC, PKey: 0xffff, PathMTU: 1,
		ResponderResources: 1, InitiatorDepth: 1, RetryCount: 7, RNRRetryCount: 7,
		Primary: mad.Path{
			LocalLID: 0xffff, RemoteLID: 0xffff, LocalGID: p.GID(), RemoteGID: qp.GIDFromAddr(to), HopLimit: 64,
		},
		PrivateData: p.IPHeader(p.path.Src, to),
	}}
}

// TimeoutREJ returns the REJ that a manager sends when a REQ times out.
func TimeoutREJ(req *mad.Message) *mad.Message {
	return &mad.Message{Attribute: mad.AttrREJ, TransactionID: req.TransactionID, REJ: mad.REJ{
		LocalCommID: req.REQ.LocalCommID, Reason: mad.RejectTimeout,
		ARI: binary.BigEndian.AppendUint64(nil, uint64(req.REQ.LocalCAGUID)),
	}}
}

// SIDRREQ returns the peer's i-th request for a datagram queue pair; see REQ.
func (p *Peer) SIDRREQ(i uint32, port uint16) *mad.Message {
	return &mad.Message{Attribute: mad.AttrSIDRREQ, TransactionID: uint64(i), SIDRREQ: mad.SIDRREQ{
		RequestID: mad.CommID(i), PKey: 0xffff, ServiceID: mad.IPServiceID(mad.PortSpaceUDP, port),
		PrivateData: p.IPHeader(p.path.Src, p.path.Dst),
	}}
}

// IPHeader returns the start of the private data of a request with these addresses.
func (p *Peer) IPHeader(from, to netip.Addr) []byte {
	h := mad.IPHeader{SourcePort: 49152, Source: from.WithZone(""), Destination: to.WithZone("")}
	// The only error is that the addresses are of different IP versions.
	b, err := h.Append(nil)
	if err != nil {
		return nil
	}
	return b
}
