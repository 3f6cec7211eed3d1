package mad

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
)

// REQPrivateLen is the maximum length of private data in a REQ, including the [IPHeader].
const REQPrivateLen = 92

// REQ requests a connection (IBA table 106).
type REQ struct {
	LocalCommID CommID
	VendorID    uint32 // 24 bits, of enhanced connection establishment; 0: not used
	ServiceID   ServiceID
	LocalCAGUID GUID
	LocalQKey   uint32 // reliable datagrams only
	LocalQPN    bth.QPN
	// ResponderResources is the number of READs and atomics that the sender accepts at a time,
	// InitiatorDepth the number that it wants to have outstanding. The receiver answers with its
	// own values: its InitiatorDepth is at most the sender's ResponderResources, and the reverse.
	ResponderResources, InitiatorDepth uint8
	LocalEECN, RemoteEECN              uint32 // 24 bits, reliable datagrams only
	// RemoteCMResponseTimeout is the time in which the receiver must answer, without the packet
	// life times; see [ReplyTimeout]. LocalCMResponseTimeout is how long the receiver must wait
	// for the answer to its REP.
	RemoteCMResponseTimeout, LocalCMResponseTimeout Timeout
	TransportService                                TransportService
	ExtendedTransport                               uint8 // 3 bits; with [TransportExtended]
	EndToEndFlowControl                             bool
	StartingPSN                                     bth.PSN // first PSN that the receiver must send
	RetryCount                                      uint8   // 3 bits, for the queue pair
	RNRRetryCount                                   uint8   // 3 bits; 7: unlimited
	// MaxCMRetries is the number of retransmissions of a CM message by either side, 4 bits.
	MaxCMRetries uint8
	PKey         uint16
	// PathMTU is a code of 4 bits, 1 for 256 to 5 for 4096 bytes; see qp.MTUFromEnum.
	PathMTU   uint8
	RDCExists bool // reliable datagrams only
	// SRQ reports that the sender's queue pair uses a shared receive queue.
	SRQ                bool
	Primary, Alternate Path
	SAPSupported       bool // the sender supports suggested alternate paths
	PrivateData        []byte
}

// TransportService is the transport service of the queue pair that a REQ is for, 2 bits.
type TransportService uint8

const (
	TransportRC       TransportService = 0 // reliable connection
	TransportUC       TransportService = 1 // unreliable connection
	TransportRD       TransportService = 2 // reliable datagram
	TransportExtended TransportService = 3 // service in ExtendedTransport, 1 for XRC
)

// String returns the service's name, such as "RC".
func (s TransportService) String() string {
	switch s {
	case TransportRC:
		return "RC"
	case TransportUC:
		return "UC"
	case TransportRD:
		return "RD"
	case TransportExtended:
		return "extended"
	}
	return "unknown"
}

const (
	reqPrimaryAt   = 52
	reqAlternateAt = reqPrimaryAt + pathLen
	reqPrivateAt   = reqAlternateAt + pathLen
)

func (r *REQ) decode(d *[dataLen]byte) {
	be := binary.BigEndian
	r.LocalCommID = CommID(be.Uint32(d[0:]))
	r.VendorID = u24(d[5:])
	r.ServiceID = ServiceID(be.Uint64(d[8:]))
	r.LocalCAGUID = GUID(be.Uint64(d[16:]))
	r.LocalQKey = be.Uint32(d[28:])
	r.LocalQPN = bth.QPN(u24(d[32:]))
	r.ResponderResources = d[35]
	r.LocalEECN = u24(d[36:])
	r.InitiatorDepth = d[39]
	r.RemoteEECN = u24(d[40:])
	r.RemoteCMResponseTimeout = Timeout(d[43] >> 3)
	r.TransportService = TransportService(d[43] >> 1 & 3)
	r.EndToEndFlowControl = d[43]&1 != 0
	r.StartingPSN = bth.PSN(u24(d[44:]))
	r.LocalCMResponseTimeout = Timeout(d[47] >> 3)
	r.RetryCount = d[47] & 7
	r.PKey = be.Uint16(d[48:])
	r.PathMTU = d[50] >> 4
	r.RDCExists = d[50]&8 != 0
	r.RNRRetryCount = d[50] & 7
	r.MaxCMRetries = d[51] >> 4
	r.SRQ = d[51]&8 != 0
	r.ExtendedTransport = d[51] & 7
	r.Primary.decode((*[pathLen]byte)(d[reqPrimaryAt:]))
	r.Alternate.decode((*[pathLen]byte)(d[reqAlternateAt:]))
	r.SAPSupported = d[reqPrivateAt-1]&4 != 0
	r.PrivateData = rest(d, reqPrivateAt)
}

func (r *REQ) encode(e *encoder) {
	e.u32(0, uint32(r.LocalCommID))
	e.u24(5, "VendorID", r.VendorID)
	e.u64(8, uint64(r.ServiceID))
	e.u64(16, uint64(r.LocalCAGUID))
	e.u32(28, r.LocalQKey)
	e.u24(32, "LocalQPN", uint32(r.LocalQPN))
	e.u8(35, r.ResponderResources)
	e.u24(36, "LocalEECN", r.LocalEECN)
	e.u8(39, r.InitiatorDepth)
	e.u24(40, "RemoteEECN", r.RemoteEECN)
	e.bits(43, 3, 5, "RemoteCMResponseTimeout", uint8(r.RemoteCMResponseTimeout))
	e.bits(43, 1, 2, "TransportService", uint8(r.TransportService))
	e.flag(43, 0, r.EndToEndFlowControl)
	e.u24(44, "StartingPSN", uint32(r.StartingPSN))
	e.bits(47, 3, 5, "LocalCMResponseTimeout", uint8(r.LocalCMResponseTimeout))
	e.bits(47, 0, 3, "RetryCount", r.RetryCount)
	e.u16(48, r.PKey)
	e.bits(50, 4, 4, "PathMTU", r.PathMTU)
	e.flag(50, 3, r.RDCExists)
	e.bits(50, 0, 3, "RNRRetryCount", r.RNRRetryCount)
	e.bits(51, 4, 4, "MaxCMRetries", r.MaxCMRetries)
	e.flag(51, 3, r.SRQ)
	e.bits(51, 0, 3, "ExtendedTransport", r.ExtendedTransport)
	r.Primary.encode(e, reqPrimaryAt)
	r.Alternate.encode(e, reqAlternateAt)
	e.flag(reqPrivateAt-1, 2, r.SAPSupported)
	e.privateData(reqPrivateAt, r.PrivateData)
}
