package rawcm

import (
	"encoding/binary"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// REQ is a request for a connection that a program at the port can accept, the i-th of the peer:
// no two have an ID, a GUID or a queue pair in common. It is not asked for again, and nobody
// waits for its answer for long: half a second is the least that a manager gives.
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

// GivenUp is what a manager says when it has given up a REQ that nobody answered.
func GivenUp(req *mad.Message) *mad.Message {
	return &mad.Message{Attribute: mad.AttrREJ, TransactionID: req.TransactionID, REJ: mad.REJ{
		LocalCommID: req.REQ.LocalCommID, Reason: mad.RejectTimeout,
		ARI: binary.BigEndian.AppendUint64(nil, uint64(req.REQ.LocalCAGUID)),
	}}
}

// SIDRREQ is a request for a datagram queue pair, as REQ.
func (p *Peer) SIDRREQ(i uint32, port uint16) *mad.Message {
	return &mad.Message{Attribute: mad.AttrSIDRREQ, TransactionID: uint64(i), SIDRREQ: mad.SIDRREQ{
		RequestID: mad.CommID(i), PKey: 0xffff, ServiceID: mad.IPServiceID(mad.PortSpaceUDP, port),
		PrivateData: p.IPHeader(p.path.Src, p.path.Dst),
	}}
}

// IPHeader is the front of the private data of a request that says these addresses.
func (p *Peer) IPHeader(from, to netip.Addr) []byte {
	h := mad.IPHeader{SourcePort: 49152, Source: from.WithZone(""), Destination: to.WithZone("")}
	// The error is of two addresses of different versions.
	b, err := h.Append(nil)
	if err != nil {
		return nil
	}
	return b
}
