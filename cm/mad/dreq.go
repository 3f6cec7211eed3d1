package mad

import (
	"encoding/binary"

	"github.com/gorxe/gorxe/bth"
)

// Maximum lengths of private data in DREQ and DREP.
const (
	DREQPrivateLen = 220
	DREPPrivateLen = 224
)

// DREQ ends a connection (IBA table 112).
type DREQ struct {
	LocalCommID, RemoteCommID CommID
	RemoteQPN                 bth.QPN // the receiver's queue pair
	PrivateData               []byte
}

func (r *DREQ) decode(d *[dataLen]byte) {
	be := binary.BigEndian
	r.LocalCommID, r.RemoteCommID = CommID(be.Uint32(d[0:])), CommID(be.Uint32(d[4:]))
	r.RemoteQPN = bth.QPN(u24(d[8:]))
	r.PrivateData = rest(d, 12)
}

func (r *DREQ) encode(e *encoder) {
	e.u32(0, uint32(r.LocalCommID))
	e.u32(4, uint32(r.RemoteCommID))
	e.u24(8, "RemoteQPN", uint32(r.RemoteQPN))
	e.privateData(12, r.PrivateData)
}

// DREP answers a DREQ (IBA table 113).
type DREP struct {
	LocalCommID, RemoteCommID CommID
	PrivateData               []byte
}

func (r *DREP) decode(d *[dataLen]byte) {
	be := binary.BigEndian
	r.LocalCommID, r.RemoteCommID = CommID(be.Uint32(d[0:])), CommID(be.Uint32(d[4:]))
	r.PrivateData = rest(d, 8)
}

func (r *DREP) encode(e *encoder) {
	e.u32(0, uint32(r.LocalCommID))
	e.u32(4, uint32(r.RemoteCommID))
	e.privateData(8, r.PrivateData)
}
