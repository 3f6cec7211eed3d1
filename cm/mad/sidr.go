package mad

import (
	"encoding/binary"
	"strconv"

	"github.com/gorxe/gorxe/bth"
)

// Maximum lengths of private data in SIDR_REQ, including the [IPHeader], and SIDR_REP.
const (
	SIDRREQPrivateLen = 216
	SIDRREPPrivateLen = 136

	sidrInfoLengthAt = 5
)

// SIDRREQ requests the datagram queue pair of a service (IBA table 119).
type SIDRREQ struct {
	RequestID   CommID // chosen by the sender, returned in the reply
	PKey        uint16
	ServiceID   ServiceID
	PrivateData []byte
}

func (r *SIDRREQ) decode(d *[dataLen]byte) {
	be := binary.BigEndian
	r.RequestID = CommID(be.Uint32(d[0:]))
	r.PKey = be.Uint16(d[4:])
	r.ServiceID = ServiceID(be.Uint64(d[8:]))
	r.PrivateData = rest(d, 16)
}

func (r *SIDRREQ) encode(e *encoder) {
	e.u32(0, uint32(r.RequestID))
	e.u16(4, r.PKey)
	e.u64(8, uint64(r.ServiceID))
	e.privateData(16, r.PrivateData)
}

// SIDRREP answers a SIDR_REQ (IBA table 120). QPN and QKey are valid only with status
// [SIDRSuccess].
type SIDRREP struct {
	RequestID CommID
	Status    SIDRStatus
	VendorID  uint32 // 24 bits, of enhanced connection establishment; 0: not used
	QPN       bth.QPN
	ServiceID ServiceID
	QKey      uint32
	// AdditionalInformation, up to 72 bytes, names the CM to ask instead if the status is
	// [SIDRRedirect].
	AdditionalInformation []byte
	PrivateData           []byte
}

func (r *SIDRREP) decode(d *[dataLen]byte) error {
	be := binary.BigEndian
	r.RequestID = CommID(be.Uint32(d[0:]))
	r.Status = SIDRStatus(d[4])
	r.VendorID = uint32(be.Uint16(d[6:]))<<8 | uint32(d[11])
	r.QPN = bth.QPN(u24(d[8:]))
	r.ServiceID = ServiceID(be.Uint64(d[12:]))
	r.QKey = be.Uint32(d[20:])
	r.PrivateData = rest(d, 96)
	n := int(d[sidrInfoLengthAt])
	if n > InfoLen {
		r.AdditionalInformation = nil
		return refuse(ReasonInfoLength)
	}
	r.AdditionalInformation = d[24 : 24+n : 24+n]
	return nil
}

func (r *SIDRREP) encode(e *encoder) {
	e.u32(0, uint32(r.RequestID))
	e.u8(4, uint8(r.Status))
	e.u24(8, "QPN", uint32(r.QPN))
	if e.fits("VendorID", uint64(r.VendorID), max24) {
		e.u16(6, uint16(r.VendorID>>8))
		e.u8(11, uint8(r.VendorID))
	}
	e.u64(12, uint64(r.ServiceID))
	e.u32(20, r.QKey)
	e.bytes(24, InfoLen, "length of AdditionalInformation", r.AdditionalInformation)
	e.u8(sidrInfoLengthAt, uint8(len(r.AdditionalInformation)))
	e.privateData(96, r.PrivateData)
}

// SIDRStatus is the status of a SIDR_REP.
type SIDRStatus uint8

const (
	SIDRSuccess            SIDRStatus = 0
	SIDRUnsupported        SIDRStatus = 1 // no listener
	SIDRReject             SIDRStatus = 2 // rejected by the program
	SIDRNoQP               SIDRStatus = 3
	SIDRRedirect           SIDRStatus = 4
	SIDRUnsupportedVersion SIDRStatus = 5
)

var sidrNames = [...]string{
	SIDRSuccess:            "QPN valid",
	SIDRUnsupported:        "service ID not supported",
	SIDRReject:             "rejected by service provider",
	SIDRNoQP:               "no QP available",
	SIDRRedirect:           "redirected",
	SIDRUnsupportedVersion: "unsupported version",
}

// String returns the status's name, such as "service ID not supported", or its number.
func (s SIDRStatus) String() string {
	if int(s) < len(sidrNames) {
		return sidrNames[s]
	}
	return "status " + strconv.Itoa(int(s))
}
