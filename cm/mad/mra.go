package mad

import "encoding/binary"

// MRAPrivateLen is the maximum length of private data in an MRA.
const MRAPrivateLen = 222

// MRA reports that a message has arrived and that its answer takes longer than the response
// timeout (IBA table 107).
type MRA struct {
	LocalCommID, RemoteCommID CommID
	MessageMRAed              MessageType // message that the MRA answers, 2 bits
	ServiceTimeout            Timeout     // time until the answer; see [MRATimeout]
	PrivateData               []byte
}

func (r *MRA) decode(d *[dataLen]byte) {
	be := binary.BigEndian
	r.LocalCommID, r.RemoteCommID = CommID(be.Uint32(d[0:])), CommID(be.Uint32(d[4:]))
	r.MessageMRAed = MessageType(d[8] >> 6)
	r.ServiceTimeout = Timeout(d[9] >> 3)
	r.PrivateData = rest(d, 10)
}

func (r *MRA) encode(e *encoder) {
	e.u32(0, uint32(r.LocalCommID))
	e.u32(4, uint32(r.RemoteCommID))
	e.bits(8, 6, 2, "MessageMRAed", uint8(r.MessageMRAed))
	e.bits(9, 3, 5, "ServiceTimeout", uint8(r.ServiceTimeout))
	e.privateData(10, r.PrivateData)
}
