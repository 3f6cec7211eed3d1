package mad

import "encoding/binary"

const (
	// REJPrivateLen is the maximum length of private data in a REJ.
	REJPrivateLen = 148
	// InfoLen is the maximum length of additional information in REJ and SIDR_REP.
	InfoLen = 72

	rejInfoLengthAt = 9
)

// REJ rejects a REQ or a REP, or abandons a connection that is not established (IBA table 108).
type REJ struct {
	// LocalCommID is 0 if the sender has assigned none, RemoteCommID is 0 if the sender does not
	// know the receiver's.
	LocalCommID, RemoteCommID CommID
	MessageRejected           MessageType // message that the REJ answers, 2 bits
	Reason                    RejectReason
	// ARI is additional reject information, up to 72 bytes. With some values of Reason, ARI is the
	// value that would be accepted, such as a GID.
	ARI         []byte
	PrivateData []byte
}

func (r *REJ) decode(d *[dataLen]byte) error {
	be := binary.BigEndian
	r.LocalCommID, r.RemoteCommID = CommID(be.Uint32(d[0:])), CommID(be.Uint32(d[4:]))
	r.MessageRejected = MessageType(d[8] >> 6)
	r.Reason = RejectReason(be.Uint16(d[10:]))
	r.PrivateData = rest(d, 84)
	n := int(d[rejInfoLengthAt] >> 1)
	if n > InfoLen {
		r.ARI = nil
		return refuse(ReasonInfoLength)
	}
	r.ARI = d[12 : 12+n : 12+n]
	return nil
}

func (r *REJ) encode(e *encoder) {
	e.u32(0, uint32(r.LocalCommID))
	e.u32(4, uint32(r.RemoteCommID))
	e.bits(8, 6, 2, "MessageRejected", uint8(r.MessageRejected))
	e.u16(10, uint16(r.Reason))
	e.bytes(12, InfoLen, "length of ARI", r.ARI)
	e.u8(rejInfoLengthAt, uint8(len(r.ARI)<<1))
	e.privateData(84, r.PrivateData)
}
