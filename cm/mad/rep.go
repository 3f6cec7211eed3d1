package mad

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
)

// Maximum lengths of private data in REP and RTU.
const (
	REPPrivateLen = 196
	RTUPrivateLen = 224
)

// REP accepts a REQ (IBA table 110).
type REP struct {
	LocalCommID, RemoteCommID          CommID
	LocalQKey                          uint32 // reliable datagrams only
	LocalQPN                           bth.QPN
	VendorID                           uint32  // 24 bits, of enhanced connection establishment; 0: not used
	LocalEECN                          uint32  // 24 bits, reliable datagrams only
	StartingPSN                        bth.PSN // first PSN that the receiver must send
	ResponderResources, InitiatorDepth uint8   // as in REQ
	TargetACKDelay                     Timeout // time that the sender's port takes to acknowledge
	// FailoverAccepted is the answer to an alternate path, 2 bits: 0 accepted, 1 not supported, 2
	// rejected.
	FailoverAccepted    uint8
	EndToEndFlowControl bool
	RNRRetryCount       uint8 // 3 bits, for the receiver's queue pair; 7: unlimited
	SRQ                 bool  // the sender's queue pair uses a shared receive queue
	LocalCAGUID         GUID
	PrivateData         []byte
}

func (r *REP) decode(d *[dataLen]byte) {
	be := binary.BigEndian
	r.LocalCommID, r.RemoteCommID = CommID(be.Uint32(d[0:])), CommID(be.Uint32(d[4:]))
	r.LocalQKey = be.Uint32(d[8:])
	r.LocalQPN = bth.QPN(u24(d[12:]))
	r.VendorID = uint32(d[15])<<16 | uint32(d[19])<<8 | uint32(d[23])
	r.LocalEECN = u24(d[16:])
	r.StartingPSN = bth.PSN(u24(d[20:]))
	r.ResponderResources = d[24]
	r.InitiatorDepth = d[25]
	r.TargetACKDelay = Timeout(d[26] >> 3)
	r.FailoverAccepted = d[26] >> 1 & 3
	r.EndToEndFlowControl = d[26]&1 != 0
	r.RNRRetryCount = d[27] >> 5
	r.SRQ = d[27]&0x10 != 0
	r.LocalCAGUID = GUID(be.Uint64(d[28:]))
	r.PrivateData = rest(d, 36)
}

func (r *REP) encode(e *encoder) {
	e.u32(0, uint32(r.LocalCommID))
	e.u32(4, uint32(r.RemoteCommID))
	e.u32(8, r.LocalQKey)
	e.u24(12, "LocalQPN", uint32(r.LocalQPN))
	e.u24(16, "LocalEECN", r.LocalEECN)
	e.u24(20, "StartingPSN", uint32(r.StartingPSN))
	if e.fits("VendorID", uint64(r.VendorID), max24) {
		e.data[15], e.data[19], e.data[23] = byte(r.VendorID>>16), byte(r.VendorID>>8), byte(r.VendorID)
	}
	e.u8(24, r.ResponderResources)
	e.u8(25, r.InitiatorDepth)
	e.bits(26, 3, 5, "TargetACKDelay", uint8(r.TargetACKDelay))
	e.bits(26, 1, 2, "FailoverAccepted", r.FailoverAccepted)
	e.flag(26, 0, r.EndToEndFlowControl)
	e.bits(27, 5, 3, "RNRRetryCount", r.RNRRetryCount)
	e.flag(27, 4, r.SRQ)
	e.u64(28, uint64(r.LocalCAGUID))
	e.privateData(36, r.PrivateData)
}

// RTU answers a REP: the connection is ready at both ends (IBA table 111).
type RTU struct {
	LocalCommID, RemoteCommID CommID
	PrivateData               []byte
}

func (r *RTU) decode(d *[dataLen]byte) {
	be := binary.BigEndian
	r.LocalCommID, r.RemoteCommID = CommID(be.Uint32(d[0:])), CommID(be.Uint32(d[4:]))
	r.PrivateData = rest(d, 8)
}

func (r *RTU) encode(e *encoder) {
	e.u32(0, uint32(r.LocalCommID))
	e.u32(4, uint32(r.RemoteCommID))
	e.privateData(8, r.PrivateData)
}
